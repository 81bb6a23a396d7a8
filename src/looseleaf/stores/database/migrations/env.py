"""The entry point for Alembic: runs the missing migrations inside the given transaction."""

from __future__ import annotations

from alembic import context

from looseleaf.stores.database.tables import load_metadata

context.configure(
    connection=context.config.attributes["connection"], target_metadata=load_metadata()
)
with context.begin_transaction():
    context.run_migrations()
