"""What a store holds, as tables that every kind of store has: what moving copies, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knobctl.server.store.columns import ROW_COLUMNS

if TYPE_CHECKING:
    from knobctl.knobs import Catalogue


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedTable:
    """One table: the same names in every kind of store."""

    name: str
    key: tuple[str, ...]
    """The columns by which its rows have an order."""
    columns: tuple[str, ...]
    """All that is moved, the key included."""


SETS: Final = "context_engine_knobs"
EVENTS: Final = "config_audit_events"
PRINCIPALS: Final = "principals"
CORPORA: Final = "corpora"
CHUNKS: Final = "chunks"

_EVENT_COLUMNS: Final = (
    *("sequence", "tenant_id", "revision", "occurred_at", "actor"),
    *("idempotency_key", "request_digest", "event"),
)
_CHUNK_COLUMNS: Final = (
    *("tenant_id", "chunk_id", "document_id", "source_id", "created_at"),
    *("version", "digest", "metadata", "text", "vector"),
)
_PRINCIPAL_COLUMNS: Final = (
    *("token_id", "secret_hash", "subject", "clearance"),
    *("tenants", "sources", "created_at"),
)


def moved_tables(catalogue: Catalogue) -> tuple[MovedTable, ...]:
    """Every table that is moved. Where indexes have come to is not: the target's are filled anew."""
    knobs = tuple(knob.name for knob in catalogue)
    return (
        MovedTable(name=SETS, key=("tenant_id",), columns=(*ROW_COLUMNS, *knobs)),
        MovedTable(name=EVENTS, key=("sequence",), columns=_EVENT_COLUMNS),
        MovedTable(name=PRINCIPALS, key=("token_id",), columns=_PRINCIPAL_COLUMNS),
        MovedTable(name=CORPORA, key=("tenant_id",), columns=("tenant_id", "version")),
        MovedTable(name=CHUNKS, key=("tenant_id", "chunk_id"), columns=_CHUNK_COLUMNS),
        MovedTable(
            name="removed_chunks",
            key=("tenant_id", "chunk_id"),
            columns=("tenant_id", "chunk_id", "version"),
        ),
    )
