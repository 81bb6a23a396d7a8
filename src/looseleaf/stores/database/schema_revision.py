"""The newest migration of a database, and upgrading the database to a newer one."""

from __future__ import annotations

import os

import sqlalchemy as sa

_MIGRATIONS = os.path.join(os.path.dirname(__file__), "migrations")


def read_revision(connection: sa.Connection) -> str | None:
    """Return the newest migration of a database, or None for a database without our tables."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.exec_driver_sql(
        "SELECT version_num FROM alembic_version"
    ).scalar()
    return revision


def is_revision(text: str) -> bool:
    """Return whether a text is the number of a migration that exists."""
    with os.scandir(os.path.join(_MIGRATIONS, "versions")) as entries:
        return text in {entry.name.partition("_")[0] for entry in entries if entry.is_file()}


def upgrade_tables(connection: sa.Connection, revision: str) -> None:
    """Run the missing migrations up to a revision, inside the transaction of a connection."""
    from alembic import command, config

    configuration = config.Config(attributes={"connection": connection})
    configuration.set_main_option("script_location", _MIGRATIONS.replace("%", "%%"))
    command.upgrade(configuration, revision)
