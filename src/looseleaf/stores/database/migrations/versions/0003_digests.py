"""Digests of rows, and how many rows each table has."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

COUNTED = ("users", "grants", "credentials", "settings", "chat_sessions")


def upgrade() -> None:
    """Add a column for digests; existing rows have none."""
    for name in (*COUNTED, "chat_messages"):
        op.add_column(name, sa.Column("digest", sa.Text))
    connection = op.get_bind()
    state = sa.table("state", sa.column("name"), sa.column("number"), sa.column("text"))
    for name in COUNTED:
        count = connection.execute(sa.select(sa.func.count()).select_from(sa.table(name)))
        rows = [{"name": name, "number": count.scalar_one(), "text": ""}]
        op.bulk_insert(state, rows)
