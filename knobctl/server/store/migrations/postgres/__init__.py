"""The schema of the store in PostgreSQL, brought forward by alembic."""
