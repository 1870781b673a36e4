"""`knobctl engine describe`: what a tenant's corpus holds."""

from __future__ import annotations

from contextlib import closing

import click

from knobctl.cli.engine_options import (
    ingest_of,
    open_engine,
    require_tenant,
    store_option,
    tenant_option,
)
from knobctl.cli.options import Settings, common_options
from knobctl.errors import EngineError, ExitCode


@click.command(short_help="Show what a tenant's corpus holds.")
@tenant_option
@store_option
@common_options()
def describe(settings: Settings, tenant: str, store: str) -> ExitCode:
    """Show what a tenant's corpus holds: documents, chunks, sources, times, and what made the vectors."""
    from knobctl.cli.session import Session
    from knobctl.report.corpus import described_json, described_text
    from knobctl.server.auth import local_caller
    from knobctl.server.refusal import ServiceError
    from knobctl.server.store import shown

    require_tenant(tenant)
    session = Session(settings, engine=False)
    with closing(open_engine(store, settings.schema)) as services:
        try:
            _, corpus, embedder = ingest_of(services).describe(local_caller(session.actor), tenant)
        except ServiceError as error:
            raise EngineError(error.message) from error
    settings.answer(
        {
            "text": lambda: described_text(
                tenant, corpus, embedder, now=session.now(), store=shown(store)
            ),
            "json": lambda: described_json(tenant, corpus, embedder),
        }
    )
    return ExitCode.OK
