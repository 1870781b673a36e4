"""One transaction of the store in PostgreSQL: sets, audit events, principals, and the way to the catalogue."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, literal, select, tuple_
from sqlalchemy.dialects.postgresql import insert

from knobctl.server.auth import Caller, Principal
from knobctl.server.store.columns import ROW_COLUMNS, names_text, read_names, read_object
from knobctl.server.store.interface import Answered, KnobsRow, RequestKey
from knobctl.server.store.postgres_corpus import PostgresCorpus
from knobctl.server.store.postgres_tables import EVENTS, FACTS, METADATA, PRINCIPALS, among

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Table
    from sqlalchemy.dialects.postgresql import Insert

    from knobctl.server.store.moved import MovedTable


_ROWS_AT_ONCE: Final = 500


class PostgresSession:
    """One transaction."""

    def __init__(self, connection: Connection, knobs: Table) -> None:
        self.connection = connection
        self._table = knobs
        self._knobs = [column.name for column in knobs.c if column.name not in ROW_COLUMNS]

    @property
    def corpus(self) -> PostgresCorpus:
        """The catalogue of chunks."""
        return PostgresCorpus(self.connection)

    def store_id(self) -> str:
        """What tells this store from every other."""
        found: str = self.connection.execute(
            select(FACTS.c.value).where(FACTS.c.name == "store_id")
        ).scalar_one()
        return found

    def revision(self, tenant: str) -> int | None:
        """The revision of a tenant's set."""
        found: int | None = self.connection.execute(
            select(self._table.c.revision).where(self._table.c.tenant_id == tenant)
        ).scalar()
        return found

    def row(self, tenant: str) -> KnobsRow | None:
        """One tenant's set."""
        row = self.connection.execute(
            select(self._table).where(self._table.c.tenant_id == tenant)
        ).first()
        return self._row(row) if row else None

    def rows(self, tenants: frozenset[str] | None, *, after: str, limit: int) -> list[KnobsRow]:
        """Sets by tenant."""
        column = self._table.c.tenant_id
        found = self.connection.execute(
            select(self._table)
            .where(column > after, among(column, tenants))
            .order_by(column)
            .limit(limit)
        )
        return [self._row(row) for row in found]

    def lost(
        self, tenants: frozenset[str] | None, *, after: str, until: str | None, limit: int
    ) -> list[str]:
        """Tenants with a first event and no row."""
        column, rows = EVENTS.c.tenant_id, self._table.c.tenant_id
        asked = select(column).where(
            column > after,
            EVENTS.c.revision == 1,
            among(column, tenants),
            ~select(rows).where(rows == column).exists(),
        )
        if until is not None:
            asked = asked.where(column <= until)
        return list(self.connection.execute(asked.order_by(column).limit(limit)).scalars())

    def last_event(self, tenant: str) -> dict[str, Any] | None:
        """The tenant's newest audit event."""
        return self._event(EVENTS.c.tenant_id == tenant)

    def event_at(self, tenant: str, revision: int) -> dict[str, Any] | None:
        """The audit event that made a revision."""
        return self._event(EVENTS.c.tenant_id == tenant, EVENTS.c.revision == revision)

    def events(
        self, tenants: frozenset[str] | None, *, since: str, after: int, limit: int
    ) -> list[tuple[int, dict[str, Any]]]:
        """Audit events, oldest first."""
        found = self.connection.execute(
            select(EVENTS.c.sequence, EVENTS.c.event)
            .where(
                EVENTS.c.sequence > after,
                EVENTS.c.occurred_at >= since,
                among(EVENTS.c.tenant_id, tenants),
            )
            .order_by(EVENTS.c.sequence)
            .limit(limit)
        )
        return [(sequence, read_object(event)) for sequence, event in found]

    def answered(self, key: RequestKey) -> Answered | None:
        """What a request with this key led to."""
        row = self.connection.execute(
            select(EVENTS.c.request_digest, EVENTS.c.event).where(
                EVENTS.c.tenant_id == key.tenant,
                EVENTS.c.actor == key.actor,
                EVENTS.c.idempotency_key == key.key,
            )
        ).first()
        return Answered(digest=row[0], event=read_object(row[1])) if row else None

    def write(self, row: KnobsRow, event: Mapping[str, Any], key: RequestKey | None) -> None:
        """Replace a set and append its event."""
        values = {column: getattr(row, name) for column, name in ROW_COLUMNS.items()}
        values |= {name: row.values[name] for name in self._knobs}
        self.connection.execute(_put(self._table), values)
        self.connection.execute(
            EVENTS.insert(),
            {
                "tenant_id": row.tenant,
                "revision": row.revision,
                "occurred_at": event["occurred_at"],
                "actor": event["actor"],
                "idempotency_key": key.key if key else None,
                "request_digest": key.digest if key else None,
                "event": json.dumps(event),
            },
        )

    def principal(self, token_id: str) -> Principal | None:
        """The principal of a token's public half."""
        row = self.connection.execute(
            select(PRINCIPALS).where(PRINCIPALS.c.token_id == token_id)
        ).first()
        if row is None:
            return None
        caller = Caller(
            subject=row.subject,
            clearance=row.clearance,
            tenants=read_names(row.tenants),
            sources=read_names(row.sources),
        )
        return Principal(
            token_id=token_id,
            secret_hash=row.secret_hash,
            caller=caller,
            created_at=row.created_at,
        )

    def add_principal(self, principal: Principal) -> None:
        """Keep a new principal."""
        caller = principal.caller
        self.connection.execute(
            PRINCIPALS.insert(),
            {
                "token_id": principal.token_id,
                "secret_hash": principal.secret_hash,
                "subject": caller.subject,
                "clearance": caller.clearance,
                "tenants": names_text(caller.tenants),
                "sources": names_text(caller.sources),
                "created_at": principal.created_at,
            },
        )

    def rows_of(self, table: MovedTable) -> Iterator[tuple[Any, ...]]:
        """All rows of a table in the order of its key."""
        columns = self._tables[table.name].c
        keys = [columns[name] for name in table.key]
        asked = select(*(columns[name] for name in table.columns)).order_by(*keys)
        last: list[ColumnElement[Any]] = []
        while True:
            page = asked.where(tuple_(*keys) > tuple_(*last)) if last else asked
            rows = self.connection.execute(page.limit(_ROWS_AT_ONCE)).all()
            yield from (tuple(map(_plain, row)) for row in rows)
            if len(rows) < _ROWS_AT_ONCE:
                return
            end = rows[-1]._mapping
            last = [literal(end[key.name], key.type) for key in keys]

    def put_rows(self, table: MovedTable, rows: Sequence[tuple[Any, ...]]) -> None:
        """Write rows of another store, with their numbers; the next number comes behind them."""
        put = self._tables[table.name].insert()
        self.connection.execute(put, [dict(zip(table.columns, row, strict=True)) for row in rows])
        if table.name == EVENTS.name:
            numbers = func.pg_get_serial_sequence(EVENTS.name, "sequence")
            self.connection.execute(
                select(func.setval(numbers, select(func.max(EVENTS.c.sequence)).scalar_subquery()))
            )

    @property
    def _tables(self) -> dict[str, Table]:
        return {**METADATA.tables, self._table.name: self._table}

    def _row(self, row: Row[Any]) -> KnobsRow:
        found = row._mapping
        own = {name: found[column] for column, name in ROW_COLUMNS.items()}
        return KnobsRow(**own, values={name: found[name] for name in self._knobs})

    def _event(self, *conditions: ColumnElement[bool]) -> dict[str, Any] | None:
        text = self.connection.execute(
            select(EVENTS.c.event).where(*conditions).order_by(EVENTS.c.sequence.desc()).limit(1)
        ).scalar()
        return None if text is None else read_object(text)


@cache
def _put(table: Table) -> Insert:
    """The statement that writes a row or replaces it; made once, for to make it costs more than to run it."""
    put = insert(table)
    replaced = {column.name: put.excluded[column.name] for column in table.c}
    return put.on_conflict_do_update(index_elements=["tenant_id"], set_=replaced)


def _plain(value: object) -> object:
    """A number as other stores have it: 8.0 of an integer knob is 8."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
