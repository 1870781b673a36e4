"""Runs the steps of PostgreSQL's schema on the connection, and in the transaction, that the store has begun."""

from __future__ import annotations

from typing import Final

from alembic import context

VERSION_TABLE: Final = "knobctl_schema"
"""Not alembic's own name: another program's steps may be kept in the same database."""

context.configure(connection=context.config.attributes["connection"], version_table=VERSION_TABLE)
with context.begin_transaction():
    context.run_migrations()
