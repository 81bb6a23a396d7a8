"""What Alembic runs: the steps that are missing, inside the transaction it is given."""

from __future__ import annotations

from alembic import context

from looseleaf.stores.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
