"""The store beyond one machine: PostgreSQL, for any number of engine processes."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import Integer, Text, cast, create_engine, func, literal, select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.types import UserDefinedType

from knobctl.errors import EngineError, UsageError
from knobctl.server.store.interface import OutcomeUnknownError, StoreUnavailableError
from knobctl.server.store.postgres_schema import bring_forward
from knobctl.server.store.postgres_session import PostgresSession
from knobctl.server.store.postgres_tables import METADATA, knobs_table
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import ColumnElement, Connection, Engine, Row, Select

    from knobctl.knobs import Catalogue

log: Final = logging.getLogger(__name__)

MOST_CONNECTIONS: Final = 20
"""Of one process; PostgreSQL comes with room for 100 of all."""
KEPT_CONNECTIONS: Final = 5
STATEMENT_TIMEOUT_S: Final = 30
"""How long a statement may take, waiting for other writers included."""
IDLE_S: Final = 60
"""How long a process that stands still may keep the others from writing."""
IDLE_INGESTING_S: Final = 900
"""The same while a tenant's texts are taken in: it only keeps others from that tenant's corpus."""
ASKED_AGAIN: Final = 20
"""How often it is asked what became of a commit whose answer was lost."""
ASKED_EVERY_S: Final = 0.25

WRITING: Final = 0x6B6E6F62_00000002
INGESTING: Final = 0x6B6E6F63
INDEXING: Final = 0x6B6E6F64

_CONNECTION: Final = {
    "application_name": "knobctl",
    "connect_timeout": "5",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
"""What a URL may say otherwise: a machine that is gone is noticed within a minute."""
_SETTINGS: Final = f"""
SELECT set_config('statement_timeout', '{STATEMENT_TIMEOUT_S}s', false),
       set_config('lock_timeout', '{STATEMENT_TIMEOUT_S}s', false),
       set_config('idle_in_transaction_session_timeout', '{IDLE_S}s', false),
       set_config('client_encoding', 'UTF8', false),
       set_config('synchronous_commit', CASE current_setting('synchronous_commit')
         WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)
"""


class PostgresStore:
    """Knobs, audit events, principals and the catalogue of chunks in one PostgreSQL database."""

    reads_at_once = False

    def __init__(self, url: str, shown: str, catalogue: Catalogue) -> None:
        """Connect, and bring the schema forward.

        Args:
            url: A connection URI as libpq reads it.
            shown: The same for people, without its password.
            catalogue: The knobs.

        Raises:
            UsageError: If the URL cannot be read.
            EngineError: If the database cannot be used; it is then as it was.
        """
        self._knobs = knobs_table(catalogue)
        self._engine = _engine(_parameters(url))
        self._readers = self._engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        try:
            with self._engine.begin() as connection:
                bring_forward(connection, catalogue)
        except SQLAlchemyError as error:
            self.close()
            raise EngineError(
                f"the store {shown} cannot be used: {_said(error)}",
                hint="nothing was written; see whether the database is up and the URL names it",
            ) from error
        except EngineError:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[PostgresSession]:
        """A session that sees one moment of the store."""
        try:
            connection, _ = _begun(self._readers, select(literal(1)))
            with connection:
                yield PostgresSession(connection, self._knobs)
        except SQLAlchemyError as error:
            raise StoreUnavailableError(_said(error)) from error

    @contextmanager
    def writing(self) -> Iterator[PostgresSession]:
        """A session that nobody else writes sets, events or principals beside."""
        # Events get their numbers in the order of their commits: a page never skips a late one.
        with self._transaction(func.pg_advisory_xact_lock(WRITING), IDLE_S) as session:
            yield session

    @contextmanager
    def ingesting(self, tenant: str) -> Iterator[PostgresSession]:
        """A session that nobody else writes this tenant's corpus beside."""
        with self._transaction(_lock_of(INGESTING, tenant), IDLE_INGESTING_S) as session:
            yield session

    @contextmanager
    def indexing(self, tenant: str) -> Iterator[PostgresSession]:
        """A session beside which nobody else brings an index forward for this tenant."""
        with self._transaction(_lock_of(INDEXING, tenant), IDLE_INGESTING_S) as session:
            yield session

    @contextmanager
    def receiving(self) -> Iterator[PostgresSession]:
        """A session beside which nobody writes anything at all."""
        with self._transaction(func.pg_advisory_xact_lock(WRITING), IDLE_INGESTING_S) as session:
            session.connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
            tables = ", ".join([*METADATA.tables, self._knobs.name])
            session.connection.exec_driver_sql(f"LOCK TABLE {tables} IN EXCLUSIVE MODE")
            yield session

    def close(self) -> None:
        """Close the idle connections; those in use are closed when they are given back."""
        self._engine.dispose()

    @contextmanager
    def _transaction(self, lock: ColumnElement[Any], idle_s: int) -> Iterator[PostgresSession]:
        idle = func.set_config("idle_in_transaction_session_timeout", f"{idle_s}s", True)
        own_id = cast(func.pg_current_xact_id(), Text)
        try:
            connection, (transaction, *_) = _begun(self._engine, select(own_id, idle, lock))
            with connection:
                yield PostgresSession(connection, self._knobs)
                try:
                    connection.commit()
                except DBAPIError as error:
                    if not error.connection_invalidated:
                        raise
                    self._settle(transaction, error)
        except SQLAlchemyError as error:
            raise StoreUnavailableError(_said(error)) from error

    def _settle(self, transaction: str, lost: DBAPIError) -> None:
        """Find out what became of a commit whose answer was lost; returns where it took place."""
        for _ in range(ASKED_AGAIN):
            match self._fate(transaction):
                case "committed":
                    return
                case "aborted":
                    raise lost
                case _:
                    time.sleep(ASKED_EVERY_S)
        raise OutcomeUnknownError(_said(lost)) from lost

    def _fate(self, transaction: str) -> str | None:
        try:
            with self._readers.connect() as connection:
                fate: str | None = connection.execute(
                    select(func.pg_xact_status(cast(transaction, XID8)))
                ).scalar()
        except SQLAlchemyError as error:
            log.info("the store cannot be asked what became of a commit: %s", _said(error))
            return None
        return fate


class XID8(UserDefinedType[str]):
    """The number of a transaction."""

    cache_ok: bool | None = True

    def get_col_spec(self, **_: object) -> str:
        """Its name in SQL."""
        return "xid8"


def _begun(engine: Engine, first: Select[Any]) -> tuple[Connection, Row[Any]]:
    """Connect and ask a first statement; once more where the connection was dead from the pool."""
    while True:
        connection = engine.connect()
        try:
            return connection, connection.execute(first).one()
        except BaseException as error:
            connection.close()
            if not (isinstance(error, DBAPIError) and error.connection_invalidated):
                raise


def _lock_of(kind: int, tenant: str) -> ColumnElement[Any]:
    return func.pg_advisory_xact_lock(cast(kind, Integer), func.hashtext(tenant))


def _engine(parameters: dict[str, Any]) -> Engine:
    def connect() -> psycopg.Connection[Any]:
        connection = psycopg.connect(**parameters, autocommit=True)
        connection.execute(_SETTINGS)
        connection.autocommit = False
        return connection

    return create_engine(
        "postgresql+psycopg://",
        creator=connect,
        isolation_level="READ COMMITTED",  # each statement sees what was committed while its session waited
        pool_size=KEPT_CONNECTIONS,
        max_overflow=MOST_CONNECTIONS - KEPT_CONNECTIONS,
        hide_parameters=True,
        use_native_hstore=False,
    )


def _parameters(url: str) -> dict[str, Any]:
    try:
        given = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        given = None
    if given is None or _is_cut_wrongly(given):
        # Not chained, and not repeated: what cannot be read may be the password.
        raise UsageError(
            "the postgresql:// URL of the store cannot be read",
            hint="postgresql://USER:PASSWORD@HOST:5432/DATABASE; special characters are percent-encoded, as %40 for @",
        )
    return {**_CONNECTION, **given}


def _is_cut_wrongly(given: dict[str, Any]) -> bool:
    """Whether a bare @ or / in a password made something else of it: libpq would say it aloud."""
    ports = str(given.get("port") or "").split(",")
    return "@" in str(given.get("host")) or not all(port.isdecimal() or not port for port in ports)


def _said(error: SQLAlchemyError) -> str:
    """What the database said, in a line: never the statement's values."""
    said = str(error.orig) if isinstance(error, DBAPIError) else str(error)
    if isinstance(error, DBAPIError) and isinstance(error.orig, psycopg.Error):
        said = error.orig.diag.message_primary or said  # without the statement's line and a caret
    return visible(" ".join(said.split()))
