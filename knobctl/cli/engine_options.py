"""Options of the commands that open a store with a corpus, and opening it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from knobctl.errors import EngineError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from knobctl.server.opening import Services
    from knobctl.server.retrieval.ingest import IngestService

KEY_VARIABLE: Final = "KNOBCTL_EMBEDDER_KEY"
"""Not an option: what stands on a command line is read by others."""

store_option = click.option(
    "--store",
    default="embedded:",
    show_default=True,
    envvar="KNOBCTL_STORE",
    metavar="URL",
    help="embedded:FILE, embedded: alone for engine.db in your data folder, or postgresql://HOST/DATABASE.",
)
candidates_option = click.option(
    "--candidates",
    envvar="KNOBCTL_CANDIDATES",
    metavar="URL",
    help="milvus:URL of a Milvus that holds the indexes of retrieval; in this process if left out.",
)
embedder_option = click.option(
    "--embedder",
    envvar="KNOBCTL_EMBEDDER",
    metavar="SPEC",
    help="minilm (what is shipped, and the default), openai:BASE_URL#MODEL, fastembed:MODEL,"
    f" sentence-transformers:MODEL or folder:PATH. A key for an endpoint is taken from {KEY_VARIABLE} alone.",
)
tenant_option = click.option(
    "--tenant", required=True, metavar="T", help="The tenant whose corpus it is."
)


def open_engine(
    store: str, schema: Path | None, *, candidates: str | None = None, embedder: str | None = None
) -> Services:
    """Open an engine's services in this process.

    Raises:
        UsageError: If a URL names nothing that is offered.
        EngineError: If the store cannot be used.
    """
    import os
    from datetime import UTC, datetime

    from knobctl.knobs import load_catalogue
    from knobctl.server.opening import open_services

    return open_services(
        store,
        load_catalogue(schema),
        clock=lambda: datetime.now(UTC),
        candidates_url=candidates,
        embedder=embedder,
        embedder_key=os.environ.get(KEY_VARIABLE),
    )


def require_tenant(tenant: str) -> None:
    """Refuse what can name no tenant.

    Raises:
        UsageError: If it cannot.
    """
    from knobctl.server.auth import is_tenant

    if not is_tenant(tenant):
        raise UsageError(
            f"{tenant!r} can name no tenant",
            hint="1 to 63 of a-z 0-9 . _ -, first and last a letter or digit",
        )


def ingest_of(services: Services) -> IngestService:
    """What takes texts in and describes them.

    Raises:
        EngineError: If retrieval is not installed, or what it was told to use cannot be.
    """
    ingest = services.ingest
    if ingest is None:
        raise EngineError(services.missing)
    return ingest
