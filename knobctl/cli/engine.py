"""`knobctl engine`: serve the reference engine, and make tokens for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from knobctl.cli.options import Settings, common_options
from knobctl.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from knobctl.server.knobs import KnobsService

CLEARANCES: Final = ("L0", "L1", "L2", "L3", "L4", "L5")

store_option = click.option(
    "--store",
    default="embedded:",
    show_default=True,
    envvar="KNOBCTL_STORE",
    metavar="URL",
    help="embedded:FILE, or embedded: alone for engine.db in your data folder.",
)


@click.group()
def command() -> None:
    """Run the reference engine: the knobs of many tenants over HTTP."""


@command.command()
@store_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    help="Port to listen on; 0 takes a free one.",
)
@click.option(
    "--port-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help='Write {"http": PORT} here once calls are answered.',
)
@common_options(formats=())
def serve(settings: Settings, store: str, host: str, port: int, port_file: Path | None) -> ExitCode:
    """Serve until SIGTERM or SIGINT; calls in flight are finished.

    Speaks the Connect protocol: POST with a JSON body. Callers need a token of `knobctl engine token`.
    """
    from knobctl.server.serving import listen, serve

    _log_to_stderr(settings)
    if settings.schema:
        _refuse_other_messages(settings.schema)
    service = _open(store, settings.schema)
    try:
        listening = listen(host, port)
        taken = listening.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host

        def ready() -> None:
            if port_file:
                _write_ports(port_file, taken)
            settings.say(f"knobctl engine on http://{shown}:{taken}, store {store}")

        serve(service, listening, ready=ready)
    finally:
        service.close()
    return ExitCode.OK


@command.command()
@click.option(
    "--subject", required=True, help="Who the token stands for; the actor in audit events."
)
@click.option(
    "--clearance",
    required=True,
    type=click.Choice(CLEARANCES),
    help="L3 reads, L4 edits.",
)
@click.option(
    "--tenant",
    "tenants",
    multiple=True,
    required=True,
    metavar="T",
    help="A tenant that it holds; repeatable; '*' for every tenant.",
)
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="S",
    help="A source that it may search; repeatable; all if left out.",
)
@store_option
@common_options(formats=())
def token(
    settings: Settings,
    subject: str,
    clearance: str,
    tenants: tuple[str, ...],
    sources: tuple[str, ...],
    store: str,
) -> ExitCode:
    """Make a token and print it, this once: the store keeps only its hash."""
    from knobctl.server.auth import Caller, is_tenant

    every = "*" in tenants
    for tenant in tenants:
        if tenant != "*" and not is_tenant(tenant):
            raise UsageError(
                f"{tenant!r} can name no tenant",
                hint="1 to 63 of a-z 0-9 . _ -, first and last a letter or digit; or '*' for every tenant",
            )
    if not subject.strip():
        raise UsageError("--subject is empty; name who the token stands for")
    caller = Caller(
        subject=subject,
        clearance=CLEARANCES.index(clearance),
        tenants=None if every else frozenset(tenants),
        sources=frozenset(sources) or None,
    )
    service = _open(store, settings.schema)
    try:
        made = service.new_token(caller)
    finally:
        service.close()
    settings.answer({"text": lambda: made})
    return ExitCode.OK


def _open(store: str, schema: Path | None) -> KnobsService:
    from datetime import UTC, datetime

    from knobctl.knobs import load_catalogue
    from knobctl.server.knobs import open_service

    return open_service(store, load_catalogue(schema), clock=lambda: datetime.now(UTC))


def _refuse_other_messages(schema: Path) -> None:
    """Refuse a schema whose knobs the messages of the wire cannot carry: they are made ahead."""
    from knobctl.knobs import load_catalogue
    from knobctl.knobs.derived import proto_text

    if proto_text(load_catalogue(schema)) != proto_text(load_catalogue()):
        raise UsageError(
            f"--schema {schema}: the knobs of another engine are not served over HTTP",
            hint=f"use the store without a server: --engine embedded:FILE --schema {schema}",
        )


def _write_ports(path: Path, http: int) -> None:
    import json

    from knobctl.documents.files import write_atomically

    try:
        write_atomically(path, json.dumps({"http": http}).encode() + b"\n")
    except OSError as error:
        raise UsageError(f"--port-file cannot write {path}: {error.strerror}") from error


def _log_to_stderr(settings: Settings) -> None:
    import logging

    logging.basicConfig(
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        level=logging.INFO if settings.verbose else logging.WARNING,
    )
