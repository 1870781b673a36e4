"""The tables of the store in PostgreSQL, as queries name them; `migrations/postgres` makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, MetaData, Table, any_, literal
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import Double, Text, TypeDecorator, TypeEngine

from knobctl.knobs import KnobType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import ColumnElement

    from knobctl.knobs import Catalogue


class AnyText(TypeDecorator[str]):
    """Text with any character: PostgreSQL has no NUL, so it and the character behind it are spelled in two.

    The spelling keeps the order of texts and what they begin with.
    """

    impl: TypeEngine[Any] | type[TypeEngine[Any]] = Text
    cache_ok: bool | None = True

    def process_bind_param(self, value: str | None, dialect: object) -> str | None:  # noqa: ARG002  SQLAlchemy's own signature
        """Spell a text for the database."""
        if value is None or ("\0" not in value and "\1" not in value):
            return value
        return value.replace("\1", "\1\2").replace("\0", "\1\1")

    def process_result_value(self, value: str | None, dialect: object) -> str | None:  # noqa: ARG002  as above
        """Read a text from the database."""
        if value is None or "\1" not in value:
            return value
        return value.replace("\1\1", "\0").replace("\1\2", "\1")


class Number(TypeDecorator[float]):
    """A number and nothing that PostgreSQL would turn into one, such as the text '0.3'."""

    impl: TypeEngine[Any] | type[TypeEngine[Any]] = Double
    cache_ok: bool | None = True

    def process_bind_param(self, value: Any, dialect: object) -> float | None:  # noqa: ANN401, ARG002  SQLAlchemy's own signature
        """Let numbers pass."""
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise TypeError(f"a knob's column takes numbers, not a {type(value).__name__}")
        return None if value is None else float(value)


METADATA: Final = MetaData()

FACTS: Final = Table(
    "store_facts",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
EVENTS: Final = Table(
    "config_audit_events",
    METADATA,
    Column("sequence", BigInteger, primary_key=True),
    Column("tenant_id", AnyText, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("occurred_at", AnyText, nullable=False),
    Column("actor", AnyText, nullable=False),
    Column("idempotency_key", AnyText),
    Column("request_digest", AnyText),
    Column("event", AnyText, nullable=False),
)
PRINCIPALS: Final = Table(
    "principals",
    METADATA,
    Column("token_id", AnyText, primary_key=True),
    Column("secret_hash", AnyText, nullable=False),
    Column("subject", AnyText, nullable=False),
    Column("clearance", Integer, nullable=False),
    Column("tenants", AnyText),
    Column("sources", AnyText),
    Column("created_at", AnyText, nullable=False),
)
CORPORA: Final = Table(
    "corpora",
    METADATA,
    Column("tenant_id", AnyText, primary_key=True),
    Column("version", BigInteger, nullable=False),
)
CHUNKS: Final = Table(
    "chunks",
    METADATA,
    Column("tenant_id", AnyText, primary_key=True),
    Column("chunk_id", AnyText, primary_key=True),
    Column("document_id", AnyText, nullable=False),
    Column("source_id", AnyText, nullable=False),
    Column("created_at", AnyText, nullable=False),
    Column("text", AnyText, nullable=False),
    Column("metadata", AnyText, nullable=False),
    Column("digest", AnyText, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("vector", LargeBinary, nullable=False),
)
REMOVED: Final = Table(
    "removed_chunks",
    METADATA,
    Column("tenant_id", AnyText, primary_key=True),
    Column("chunk_id", AnyText, primary_key=True),
    Column("version", BigInteger, nullable=False),
)
EMBEDDER: Final = Table(
    "embedder",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("model", AnyText, nullable=False),
    Column("revision", AnyText, nullable=False),
    Column("pooling", AnyText, nullable=False),
    Column("dimensions", Integer, nullable=False),
)
POSITIONS: Final = Table(
    "indexed_corpora",
    METADATA,
    Column("index_name", AnyText, primary_key=True),
    Column("tenant_id", AnyText, primary_key=True),
    Column("version", BigInteger, nullable=False),
)


def knobs_table(catalogue: Catalogue) -> Table:
    """The table of the sets: columns of our own, then one a knob."""
    return Table(
        "context_engine_knobs",
        MetaData(),
        Column("tenant_id", AnyText, primary_key=True),
        Column("revision", BigInteger, nullable=False),
        Column("updated_at", AnyText, nullable=False),
        Column("updated_by", AnyText, nullable=False),
        Column("head_hash", AnyText, nullable=False),
        Column("seal", AnyText, nullable=False),
        *(
            Column(knob.name, AnyText if knob.type is KnobType.MODE else Number, nullable=False)
            for knob in catalogue
        ),
    )


def among(column: Column[Any], wanted: Iterable[str] | None) -> ColumnElement[bool]:
    """Whether a column's text is one of these, however many; always where they are None."""
    if wanted is None:
        return literal(value=True)
    return column == any_(literal(sorted(wanted), ARRAY(AnyText)))
