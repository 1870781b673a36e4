"""`knobctl engine`: serve the reference engine, and make tokens for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from knobctl.cli.engine_describe import describe
from knobctl.cli.engine_load import load
from knobctl.cli.engine_migrate import migrate
from knobctl.cli.engine_options import (
    candidates_option,
    embedder_option,
    open_engine,
    store_option,
)
from knobctl.cli.options import FiniteRange, Settings, common_options
from knobctl.errors import EngineError, ExitCode, KnobctlError, UsageError

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from knobctl.server.knobs import KnobsService
    from knobctl.server.opening import Services

    F = TypeVar("F", bound=Callable[..., object])

CLEARANCES: Final = ("L0", "L1", "L2", "L3", "L4", "L5")
LONGEST_SUBJECT: Final = 200
"""In characters: it stands in every audit event of its holder."""


@click.group()
def command() -> None:
    """Run the reference engine: knobs and retrieval for many tenants, over HTTP and gRPC."""


command.add_command(load)
command.add_command(describe)
command.add_command(migrate)


def _port_option(name: str, text: str) -> Callable[[F], F]:
    return click.option(
        name,
        type=click.IntRange(0, 65535),
        default=0,
        show_default=True,
        help=f"{text}; 0 takes a free one.",
    )


@command.command()
@store_option
@candidates_option
@embedder_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@_port_option("--port", "Port for HTTP: Connect, JSON, probes")
@_port_option("--grpc-port", "Port for gRPC, without TLS; both ports answer everything")
@click.option(
    "--port-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help='Write {"http": PORT, "grpc": PORT} here once calls are answered.',
)
@click.option(
    "--rate",
    type=FiniteRange(0, 1_000_000, min_open=True),
    metavar="N",
    help="Most calls a second of one principal, 2 seconds' worth at once; any number if left out.",
)
@click.option(
    "--drain",
    "drain_s",
    type=FiniteRange(0, 3600),
    default=0,
    show_default=True,
    metavar="SECONDS",
    help="After SIGTERM, how long to go on answering while /readyz says 503, for a balancer to see it.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Of the lines on stderr; -v adds one for each call.",
)
@common_options(formats=())
def serve(
    settings: Settings,
    store: str,
    candidates: str | None,
    embedder: str | None,
    host: str,
    port: int,
    grpc_port: int,
    port_file: Path | None,
    rate: float | None,
    drain_s: float,
    log_format: str,
) -> ExitCode:
    """Serve until SIGTERM or SIGINT; calls in flight are finished.

    Speaks Connect (POST with a JSON body) and gRPC. Callers need a token of `knobctl engine token`.

    Open to everybody, without a token: /healthz, /readyz, /metrics (which names tenants), gRPC
    health and reflection. A request may have 1 MiB, of chunks 16 MiB.
    """
    from knobctl.server.applications import Limits
    from knobctl.server.serving import listen_all, serve
    from knobctl.server.store import shown

    say = _log_to_stderr(settings, log_format)
    if settings.schema:
        _refuse_other_messages(settings.schema)
    services = _open_services(store, settings.schema, candidates, embedder)
    try:
        listening = listen_all(host, {"--port": port, "--grpc-port": grpc_port})
        http, grpc = (one.getsockname()[1] for one in listening)
        at = f"[{host}]" if ":" in host else host
        is_open = not _is_loopback(listening[0])

        def ready() -> None:
            if port_file:
                _write_ports(port_file, http=http, grpc=grpc)
            say(f"knobctl engine on http://{at}:{http}, gRPC on {at}:{grpc}, store {shown(store)}")
            if is_open:
                say(f"{host} is open to the network without TLS: tokens travel in clear")

        limits = Limits(calls_per_s=rate, drain_s=drain_s)
        serve(services, listening, ready=ready, limits=limits)
    finally:
        services.close()
    return ExitCode.OK


@command.command(short_help="Make a token; it is printed this once.")
@click.option(
    "--subject", required=True, help="Who the token stands for; the actor in audit events."
)
@click.option(
    "--clearance",
    required=True,
    type=click.Choice(CLEARANCES),
    help="L3 reads knobs, L4 edits them and loads texts; any may search.",
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
    from knobctl.server.refusal import ServiceError

    every = "*" in tenants
    for tenant in tenants:
        if tenant != "*" and not is_tenant(tenant):
            raise UsageError(
                f"{tenant!r} can name no tenant",
                hint="1 to 63 of a-z 0-9 . _ -, first and last a letter or digit; or '*' for every tenant",
            )
    _refuse_unusable_subject(subject)
    if not all(source.strip() for source in sources):
        raise UsageError(
            "--source is empty", hint="name a source; left out, the token may search all of them"
        )
    caller = Caller(
        subject=subject,
        clearance=CLEARANCES.index(clearance),
        tenants=None if every else frozenset(tenants),
        sources=frozenset(sources) or None,
    )
    service = _open(store, settings.schema)
    try:
        made = service.new_token(caller)
    except ServiceError as error:
        raise EngineError(f"no token was made: {error}") from error
    finally:
        service.close()
    settings.answer({"text": lambda: made})
    return ExitCode.OK


def _refuse_unusable_subject(subject: str) -> None:
    """Refuse what would make the audit log unreadable."""
    from knobctl.text import INVISIBLE

    if not subject.strip():
        raise UsageError("--subject is empty; name who the token stands for")
    if len(subject) > LONGEST_SUBJECT:
        raise UsageError(f"--subject has {len(subject):,} characters; at most {LONGEST_SUBJECT}")
    if INVISIBLE.search(subject) or "\n" in subject or "\t" in subject:
        raise UsageError(
            "--subject holds characters that cannot be seen; it stands in audit events"
        )


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


def _open_services(
    store: str, schema: Path | None, candidates: str | None, embedder: str | None
) -> Services:
    """Open what is served; what retrieval is asked to use must be there before calls come."""
    services = open_engine(store, schema, candidates=candidates, embedder=embedder)
    try:
        asked = "--embedder" if embedder else "--candidates" if candidates else ""
        if asked and services.missing:
            raise UsageError(f"{asked}: {services.missing}")
        if asked:
            services.context  # noqa: B018  opens it
    except KnobctlError:
        services.close()
        raise
    return services


def _is_loopback(listening: socket.socket) -> bool:
    from ipaddress import ip_address

    return ip_address(listening.getsockname()[0]).is_loopback


def _write_ports(path: Path, *, http: int, grpc: int) -> None:
    import json

    from knobctl.documents.files import write_atomically

    try:
        write_atomically(path, json.dumps({"http": http, "grpc": grpc}).encode() + b"\n")
    except OSError as error:
        raise UsageError(f"--port-file cannot write {path}: {error.strerror}") from error


def _log_to_stderr(settings: Settings, log_format: str) -> Callable[[str], None]:
    """Send log lines to stderr, and give what says a line there for the person who started the engine."""
    import logging

    from knobctl.server.request_log import FORMATTERS, NamesItsCall

    handler = logging.StreamHandler()
    handler.addFilter(NamesItsCall())
    handler.setFormatter(FORMATTERS[log_format]())
    logging.basicConfig(
        level=logging.INFO if settings.verbose else logging.WARNING, handlers=[handler]
    )
    logging.getLogger("knobctl.server.http").setLevel(logging.WARNING)  # it says the ports again
    if log_format == "text":
        return settings.say
    talk = logging.getLogger("knobctl.engine")
    talk.setLevel(logging.WARNING if settings.quiet else logging.INFO)
    return talk.info
