"""Brings a PostgreSQL database to the schema of this version: forward, once, keeping what it holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import func, select, text
from sqlalchemy.exc import DataError, IntegrityError, ProgrammingError

from knobctl.errors import EngineError
from knobctl.knobs.derived import postgres_columns, quoted_name
from knobctl.server.store.columns import require_known_knobs, values_not_taken
from knobctl.server.store.postgres_tables import FACTS, METADATA

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from knobctl.knobs import Catalogue

NEWEST: Final = "0001"
"""The last of the steps in `migrations/postgres/versions`."""
BRINGING_FORWARD: Final = 0x6B6E6F62_00000001
"""The advisory lock that one process at a time holds while it changes the schema."""
KNOBS: Final = "context_engine_knobs"

_OWN_COLUMNS: Final = {
    "tenant_id": 'text COLLATE "C" PRIMARY KEY',
    "revision": "bigint NOT NULL CHECK (revision >= 1)",
    "updated_at": "text NOT NULL",
    "updated_by": "text NOT NULL",
    "head_hash": "text NOT NULL",
    "seal": "text NOT NULL",
}


def bring_forward(connection: Connection, catalogue: Catalogue) -> None:
    """Bring the schema forward, inside the transaction that the caller has begun and commits.

    Raises:
        EngineError: If the database is of a newer version, keeps its texts in another encoding,
            has another program's tables in the place of ours, holds knobs that the schema does not
            know, or values that the schema no longer takes.
    """
    if _is_current(connection, catalogue):
        return
    connection.execute(text("SET LOCAL statement_timeout = 0"))
    connection.execute(text("SET LOCAL lock_timeout = 0"))
    connection.execute(select(func.pg_advisory_xact_lock(BRINGING_FORWARD)))
    version = _version(connection)
    if version is None:
        _require_room(connection)
    if version != NEWEST:
        _upgrade(connection)
    _fit_knobs(connection, catalogue)


def _is_current(connection: Connection, catalogue: Catalogue) -> bool:
    """Whether there is nothing to do; asked first, so that opening a store waits for nobody."""
    return _version(connection) == NEWEST and _kept_ddl(connection) == _knobs_ddl(catalogue)


def _version(connection: Connection) -> str | None:
    if not _has_table(connection, "knobctl_schema"):
        return None
    version: str | None = connection.execute(
        text("SELECT version_num FROM knobctl_schema")
    ).scalar()
    if version is not None and not (version.isascii() and version.isdecimal()):
        raise _another_programs("knobctl_schema")
    if version is not None and version > NEWEST:
        raise EngineError(
            f"the store was written by a newer knobctl (schema {int(version)}, this one knows {int(NEWEST)})",
            hint="upgrade knobctl; nothing was changed",
        )
    return version


def _has_table(connection: Connection, name: str) -> bool:
    # Not to_regclass: it goes on remembering that a name meant nothing, also after the wait for a lock.
    found = connection.execute(
        text(
            "SELECT count(*) FROM pg_class"
            " WHERE relname = :name AND relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_table_is_visible(oid)"
        ),
        {"name": name},
    )
    return bool(found.scalar())


def _require_room(connection: Connection) -> None:
    encoding = connection.execute(text("SHOW server_encoding")).scalar()
    if encoding != "UTF8":
        raise EngineError(
            f"the database keeps its texts in {encoding}; the store needs UTF8",
            hint="CREATE DATABASE knobctl ENCODING 'UTF8' TEMPLATE template0",
        )
    taken = [name for name in (*METADATA.tables, KNOBS) if _has_table(connection, name)]
    if taken:
        raise _another_programs(taken[0])


def _another_programs(table: str) -> EngineError:
    return EngineError(
        f"the database is another program's, not a store of knobctl: it has a table {table}",
        hint="give knobctl a database of its own: CREATE DATABASE knobctl; nothing was changed",
    )


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option(
        "script_location", str(Path(__file__).parent / "migrations" / "postgres").replace("%", "%%")
    )
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _fit_knobs(connection: Connection, catalogue: Catalogue) -> None:
    """Make the knobs' table that of the catalogue: new knobs unset, changed bounds checked anew."""
    wanted, found = _knobs_ddl(catalogue), _kept_ddl(connection)
    if found == wanted:
        return
    if found is None:
        _run(connection, f"CREATE TABLE {KNOBS} {wanted}")
    else:
        _rebuild(connection, catalogue, wanted)
    connection.execute(FACTS.delete().where(FACTS.c.name == KNOBS))
    connection.execute(FACTS.insert().values(name=KNOBS, value=wanted))


def _rebuild(connection: Connection, catalogue: Catalogue, wanted: str) -> None:
    kept = list(
        connection.execute(
            text(
                "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(:name)"
                " AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
            ),
            {"name": KNOBS},
        ).scalars()
    )
    require_known_knobs(kept, catalogue)
    columns = ", ".join(quoted_name(name) for name in kept)
    _run(connection, f"LOCK TABLE {KNOBS} IN ACCESS EXCLUSIVE MODE")
    _run(connection, f"CREATE TABLE {KNOBS}_next {wanted}")
    try:
        _run(
            connection,
            f"INSERT INTO {KNOBS}_next ({columns}) SELECT {columns} FROM {KNOBS}",  # noqa: S608  column names of our own table, quoted
        )
    except (IntegrityError, DataError, ProgrammingError) as error:
        raise values_not_taken(_first_line(error)) from error
    _run(connection, f"DROP TABLE {KNOBS}")
    _run(connection, f"ALTER TABLE {KNOBS}_next RENAME TO {KNOBS}")


def _run(connection: Connection, statement: str) -> None:
    """Run a statement as it stands: a percent sign in it is none of a parameter's."""
    connection.exec_driver_sql(statement, execution_options={"no_parameters": True})


def _first_line(error: IntegrityError | DataError | ProgrammingError) -> str:
    return str(error.orig).partition("\n")[0]


def _knobs_ddl(catalogue: Catalogue) -> str:
    own = [f"{name} {definition}" for name, definition in _OWN_COLUMNS.items()]
    return "(\n  " + ",\n  ".join([*own, *postgres_columns(catalogue)]) + "\n)"


def _kept_ddl(connection: Connection) -> str | None:
    """How the knobs' table was made; None where it was not."""
    if not _has_table(connection, KNOBS):
        return None
    kept: str | None = connection.execute(
        select(FACTS.c.value).where(FACTS.c.name == KNOBS)
    ).scalar()
    return kept or ""
