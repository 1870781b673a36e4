"""The embedded store: one SQLite file, WAL, every commit flushed to the disk."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from knobctl.errors import EngineError
from knobctl.knobs.derived import quoted_name
from knobctl.server.auth import Caller, Principal
from knobctl.server.store.columns import ROW_COLUMNS, names_text, read_names, read_object
from knobctl.server.store.interface import Answered, KnobsRow, RequestKey, StoreUnavailableError
from knobctl.server.store.migrations import is_current, migrate
from knobctl.server.store.sqlite_corpus import SqliteCorpus

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from knobctl.knobs import Catalogue
    from knobctl.server.store.moved import MovedTable

BUSY_TIMEOUT_S: Final = 30.0
"""How long a writer waits for the others; each holds its place for some milliseconds."""
OLDEST_SQLITE: Final = (3, 37)
"""The first with STRICT tables."""
TROUBLE: Final = (sqlite3.Error, UnicodeDecodeError)
"""How Python's sqlite3 fails; the second where a damaged file's name for something is in the message."""
NOTHING_IN_ITS_PLACE: Final = (
    "nothing was written, and no defaults are served in its place; restore the file from a backup"
)
_DISK: Final = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
)
"""What SQLite says where the file is whole and the disk does not let it work."""


def _what_to_do(error: Exception) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _DISK:
        return "nothing was written; see whether the disk or the quota is full, or the folder read-only"
    return NOTHING_IN_ITS_PLACE


class SqliteStore:
    """Knobs, audit events, principals and the catalogue of chunks in one SQLite file."""

    reads_at_once = True

    def __init__(self, path: Path, catalogue: Catalogue) -> None:
        """Open the file, make it where it is missing, and bring its schema forward.

        Raises:
            EngineError: If the file cannot be used; it is then as it was.
        """
        if sqlite3.sqlite_version_info < OLDEST_SQLITE:
            raise EngineError(
                f"this Python has SQLite {sqlite3.sqlite_version}; the store needs 3.37 or newer"
            )
        self._path = path.absolute()
        self._catalogue = catalogue
        self._idle: list[sqlite3.Connection] = []
        self._writers = threading.Lock()
        try:
            if not self._path.exists():
                self._make()
            _require_database(self._path)
            self._idle.append(self._brought_forward(self._path))
        except OSError as error:
            raise EngineError(f"the store {path} cannot be opened: {error.strerror}") from error
        except TROUBLE as error:
            raise EngineError(
                f"the store {path} cannot be used: {error}", hint=_what_to_do(error)
            ) from error

    @contextmanager
    def reading(self) -> Iterator[SqliteSession]:
        """A session that sees one moment of the store."""
        with self._transaction("BEGIN") as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[SqliteSession]:
        """A session that nobody else writes beside: threads queue for a lock, processes for SQLite's."""
        with self._writers, self._transaction("BEGIN IMMEDIATE") as session:
            yield session

    def ingesting(self, tenant: str) -> AbstractContextManager[SqliteSession]:  # noqa: ARG002  the file has one writer
        """A session that nobody else writes this tenant's corpus beside, because nobody writes at all."""
        return self.writing()

    def indexing(self, tenant: str) -> AbstractContextManager[SqliteSession]:  # noqa: ARG002  as above
        """A session beside which nobody else brings an index forward, because nobody writes at all."""
        return self.writing()

    def receiving(self) -> AbstractContextManager[SqliteSession]:
        """A session beside which nobody writes anything at all."""
        return self.writing()

    def close(self) -> None:
        """Close the idle connections; those in use are closed when they are given back."""
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[SqliteSession]:
        connection: sqlite3.Connection | None = None
        try:
            connection = self._idle_connection() or _connect(self._path)
            connection.execute(begin)
            yield SqliteSession(connection, self._catalogue)
            connection.execute("COMMIT")
        except TROUBLE as error:
            if connection:
                connection.close()
            raise StoreUnavailableError(str(error)) from error
        except BaseException:
            if connection and _rolled_back(connection):
                self._idle.append(connection)
            raise
        self._idle.append(connection)

    def _idle_connection(self) -> sqlite3.Connection | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _make(self) -> None:
        """Make the file: whole or not at all, so that an empty file is never a store.

        Of several processes that make it at once, one wins and the others use its file.
        """
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")
        os.close(handle)
        new = Path(name)
        try:
            self._brought_forward(new).close()
            with suppress(FileExistsError):
                self._path.hardlink_to(new)
        finally:
            new.unlink()

    def _brought_forward(self, path: Path) -> sqlite3.Connection:
        """Connect to a file, and give its schema the form that this version has."""
        connection = _connect(path)
        try:
            _use_wal(connection)
            if not is_current(connection, self._catalogue):
                connection.execute("BEGIN IMMEDIATE")
                migrate(connection, self._catalogue)
                connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection


class SqliteSession:
    """One transaction."""

    def __init__(self, connection: sqlite3.Connection, catalogue: Catalogue) -> None:
        self._connection = connection
        self._knobs = [knob.name for knob in catalogue]

    @property
    def corpus(self) -> SqliteCorpus:
        """The catalogue of chunks."""
        return SqliteCorpus(self._connection)

    def store_id(self) -> str:
        """What tells this store from every other."""
        found: str = self._connection.execute(
            "SELECT value FROM store_facts WHERE name = 'store_id'"
        ).fetchone()[0]
        return found

    def revision(self, tenant: str) -> int | None:
        """The revision of a tenant's set."""
        row = self._connection.execute(
            "SELECT revision FROM context_engine_knobs WHERE tenant_id = ?", (tenant,)
        ).fetchone()
        return row[0] if row else None

    def row(self, tenant: str) -> KnobsRow | None:
        """One tenant's set."""
        row = self._connection.execute(f"{self._select} WHERE tenant_id = ?", (tenant,)).fetchone()
        return self._row(row) if row else None

    def rows(self, tenants: frozenset[str] | None, *, after: str, limit: int) -> list[KnobsRow]:
        """Sets by tenant."""
        wanted, values = _among(tenants)
        found = self._connection.execute(
            f"{self._select} WHERE tenant_id > ?{wanted} ORDER BY tenant_id LIMIT ?",
            (after, *values, limit),
        )
        return [self._row(row) for row in found]

    def lost(
        self, tenants: frozenset[str] | None, *, after: str, until: str | None, limit: int
    ) -> list[str]:
        """Tenants with a first event and no row."""
        wanted, values = _among(tenants)
        bound, ends = ("", ()) if until is None else (" AND tenant_id <= ?", (until,))
        found = self._connection.execute(
            "SELECT tenant_id FROM config_audit_events AS event WHERE tenant_id > ? AND revision = 1"  # noqa: S608  conditions of this module
            f"{bound}{wanted} AND NOT EXISTS (SELECT 1 FROM context_engine_knobs AS row"
            " WHERE row.tenant_id = event.tenant_id) ORDER BY tenant_id LIMIT ?",
            (after, *ends, *values, limit),
        )
        return [row[0] for row in found]

    def last_event(self, tenant: str) -> dict[str, Any] | None:
        """The tenant's newest audit event."""
        return self._event(
            "WHERE tenant_id = ? ORDER BY sequence DESC LIMIT 1",
            tenant,
        )

    def event_at(self, tenant: str, revision: int) -> dict[str, Any] | None:
        """The audit event that made a revision."""
        return self._event("WHERE tenant_id = ? AND revision = ?", tenant, revision)

    def events(
        self, tenants: frozenset[str] | None, *, since: str, after: int, limit: int
    ) -> list[tuple[int, dict[str, Any]]]:
        """Audit events, oldest first."""
        wanted, values = _among(tenants)
        found = self._connection.execute(
            "SELECT sequence, event FROM config_audit_events WHERE sequence > ?"  # noqa: S608  a condition of this module
            f" AND occurred_at >= ?{wanted} ORDER BY sequence LIMIT ?",
            (after, since, *values, limit),
        )
        return [(sequence, read_object(event)) for sequence, event in found]

    def answered(self, key: RequestKey) -> Answered | None:
        """What a request with this key led to."""
        row = self._connection.execute(
            "SELECT request_digest, event FROM config_audit_events"
            " WHERE tenant_id = ? AND actor = ? AND idempotency_key = ?",
            (key.tenant, key.actor, key.key),
        ).fetchone()
        return Answered(digest=row[0], event=read_object(row[1])) if row else None

    def write(self, row: KnobsRow, event: Mapping[str, Any], key: RequestKey | None) -> None:
        """Replace a set and append its event."""
        columns = [*ROW_COLUMNS, *map(quoted_name, self._knobs)]
        places = ", ".join("?" * len(columns))
        changes = ", ".join(f"{column} = excluded.{column}" for column in columns)
        # Not INSERT OR REPLACE: it puts the column's default where a NULL, such as a bound NaN, is refused.
        self._connection.execute(
            f"INSERT INTO context_engine_knobs ({', '.join(columns)}) VALUES ({places})"  # noqa: S608  our own column names, quoted
            f" ON CONFLICT (tenant_id) DO UPDATE SET {changes}",
            (
                *(getattr(row, attribute) for attribute in ROW_COLUMNS.values()),
                *(row.values[name] for name in self._knobs),
            ),
        )
        self._connection.execute(
            "INSERT INTO config_audit_events"
            " (tenant_id, revision, occurred_at, actor, idempotency_key, request_digest, event)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                row.tenant,
                row.revision,
                event["occurred_at"],
                event["actor"],
                key.key if key else None,
                key.digest if key else None,
                json.dumps(event),
            ),
        )

    def principal(self, token_id: str) -> Principal | None:
        """The principal of a token's public half."""
        row = self._connection.execute(
            "SELECT secret_hash, subject, clearance, tenants, sources, created_at"
            " FROM principals WHERE token_id = ?",
            (token_id,),
        ).fetchone()
        if row is None:
            return None
        secret_hash, subject, clearance, tenants, sources, created_at = row
        caller = Caller(
            subject=subject,
            clearance=clearance,
            tenants=read_names(tenants),
            sources=read_names(sources),
        )
        return Principal(
            token_id=token_id, secret_hash=secret_hash, caller=caller, created_at=created_at
        )

    def add_principal(self, principal: Principal) -> None:
        """Keep a new principal."""
        caller = principal.caller
        self._connection.execute(
            "INSERT INTO principals"
            " (token_id, secret_hash, subject, clearance, tenants, sources, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                principal.token_id,
                principal.secret_hash,
                caller.subject,
                caller.clearance,
                names_text(caller.tenants),
                names_text(caller.sources),
                principal.created_at,
            ),
        )

    def rows_of(self, table: MovedTable) -> Iterator[tuple[Any, ...]]:
        """All rows of a table in the order of its key."""
        columns = ", ".join(map(quoted_name, table.columns))
        yield from self._connection.execute(
            f"SELECT {columns} FROM {table.name} ORDER BY {', '.join(table.key)}"  # noqa: S608  our own tables
        )

    def put_rows(self, table: MovedTable, rows: Sequence[tuple[Any, ...]]) -> None:
        """Write rows of another store."""
        columns = ", ".join(map(quoted_name, table.columns))
        places = ", ".join("?" * len(table.columns))
        self._connection.executemany(
            f"INSERT INTO {table.name} ({columns}) VALUES ({places})",  # noqa: S608  our own tables
            rows,
        )

    @property
    def _select(self) -> str:
        columns = ", ".join([*ROW_COLUMNS, *map(quoted_name, self._knobs)])
        return f"SELECT {columns} FROM context_engine_knobs"  # noqa: S608  our own column names, quoted

    def _row(self, row: tuple[Any, ...]) -> KnobsRow:
        own = dict(zip(ROW_COLUMNS.values(), row, strict=False))
        return KnobsRow(**own, values=dict(zip(self._knobs, row[len(ROW_COLUMNS) :], strict=True)))

    def _event(self, condition: str, *values: object) -> dict[str, Any] | None:
        row = self._connection.execute(
            f"SELECT event FROM config_audit_events {condition}",  # noqa: S608  conditions of this module
            values,
        ).fetchone()
        return read_object(row[0]) if row else None


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    for pragma in ("synchronous = FULL", "trusted_schema = OFF", "cell_size_check = ON"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _require_database(path: Path) -> None:
    """Refuse a file that SQLite would take for a new one and fill: it may be a store that was cut off."""
    with path.open("rb") as file:
        header = file.read(100)
    if len(header) < 100 or not header.startswith(b"SQLite format 3\0"):
        raise EngineError(
            f"the store {path} is {'empty' if not header else 'no SQLite database'}",
            hint=f"{NOTHING_IN_ITS_PLACE}; to begin a new store, remove the file",
        )


def _use_wal(connection: sqlite3.Connection) -> None:
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise EngineError(
            f"the store cannot use SQLite's write-ahead log here (it offers {mode!r})",
            hint="keep the file on a local disk",
        )


def _rolled_back(connection: sqlite3.Connection) -> bool:
    """Roll back, and say whether the connection can be used again; it is closed where not."""
    try:
        connection.execute("ROLLBACK")
    except TROUBLE:
        connection.close()
        return False
    return True


def _among(tenants: frozenset[str] | None) -> tuple[str, tuple[str, ...]]:
    if tenants is None:
        return "", ()
    return " AND tenant_id IN (SELECT value FROM json_each(?))", (json.dumps(sorted(tenants)),)
