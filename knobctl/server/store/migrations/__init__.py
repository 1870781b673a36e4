"""Brings an SQLite file to the schema of this version: forward, once, keeping what it holds."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knobctl.errors import EngineError
from knobctl.knobs.derived import quoted_name, sql_columns
from knobctl.server.store.columns import require_known_knobs, values_not_taken

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.knobs import Catalogue

APPLICATION_ID: Final = 0x6B6E6F62
"""What marks a file as ours: `knob`."""
STEPS: Final = ("0001_knobs_audit_principals.sql", "0002_chunks.sql", "0003_store_id.sql")
"""In order; the number of those applied is the file's `user_version`."""

_OWN_COLUMNS: Final = {
    "tenant_id": "TEXT PRIMARY KEY",
    "revision": "INTEGER NOT NULL CHECK (revision >= 1)",
    "updated_at": "TEXT NOT NULL",
    "updated_by": "TEXT NOT NULL",
    "head_hash": "TEXT NOT NULL",
    "seal": "TEXT NOT NULL",
}


def migrate(connection: sqlite3.Connection, catalogue: Catalogue) -> None:
    """Bring the schema forward, inside the writing transaction that the caller has begun.

    Raises:
        EngineError: If the file is another program's, of a newer version, holds knobs that the
            schema does not know, or values that the schema no longer takes.
    """
    version = _version(connection)
    for step in STEPS[version:]:
        script = (Path(__file__).parent / step).read_text(encoding="utf-8")
        for statement in _statements(script):
            connection.execute(statement)
    _fit_knobs(connection, catalogue)
    if version < len(STEPS):
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(STEPS)}")


def is_current(connection: sqlite3.Connection, catalogue: Catalogue) -> bool:
    """Whether there is nothing to do; asked first, so that opening a file takes no writer's place."""
    return _version(connection) == len(STEPS) and _table_sql(connection) == _knobs_table(catalogue)


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    ours: int = connection.execute("PRAGMA application_id").fetchone()[0]
    if ours != APPLICATION_ID and (version or _names(connection)):
        raise EngineError(
            "the file is a database of another program, not a store of knobctl",
            hint="name another file: --engine embedded:FILE or --store embedded:FILE",
        )
    if version > len(STEPS):
        raise EngineError(
            f"the store was written by a newer knobctl (schema {version}, this one knows {len(STEPS)})",
            hint="upgrade knobctl; nothing was changed",
        )
    return version


def _fit_knobs(connection: sqlite3.Connection, catalogue: Catalogue) -> None:
    """Make the knobs' table that of the catalogue: new knobs unset, changed bounds checked anew."""
    wanted, found = _knobs_table(catalogue), _table_sql(connection)
    if found == wanted:
        return
    if found is None:
        connection.execute(wanted)
        return
    kept = [row[1] for row in connection.execute("PRAGMA table_info(context_engine_knobs)")]
    require_known_knobs(kept, catalogue)
    columns = ", ".join(quoted_name(name) for name in kept)
    connection.execute("ALTER TABLE context_engine_knobs RENAME TO context_engine_knobs_before")
    connection.execute(wanted)
    try:
        connection.execute(
            f"INSERT INTO context_engine_knobs ({columns}) SELECT {columns} FROM context_engine_knobs_before"  # noqa: S608  column names of our own table, quoted
        )
    except sqlite3.IntegrityError as error:
        raise values_not_taken(str(error)) from error
    connection.execute("DROP TABLE context_engine_knobs_before")


def _knobs_table(catalogue: Catalogue) -> str:
    own = [f"{name} {definition}" for name, definition in _OWN_COLUMNS.items()]
    lines = ",\n  ".join([*own, *sql_columns(catalogue)])
    return f"CREATE TABLE context_engine_knobs (\n  {lines}\n) STRICT"


def _table_sql(connection: sqlite3.Connection) -> str | None:
    row = connection.execute(
        "SELECT sql FROM sqlite_master WHERE name = 'context_engine_knobs'"
    ).fetchone()
    return row[0] if row else None


def _names(connection: sqlite3.Connection) -> list[str]:
    return [row[0] for row in connection.execute("SELECT name FROM sqlite_master")]


def _statements(script: str) -> Iterator[str]:
    """Split a script into statements: `executescript` would commit the transaction around it."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
