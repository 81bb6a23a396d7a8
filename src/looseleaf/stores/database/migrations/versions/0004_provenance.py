"""Provenance of the audit's entries: kind of actor, origin, and the activity they belong to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

COLUMNS = ("actor_kind", "origin", "activity", "activity_id")


def upgrade() -> None:
    """Add the columns; they are null in existing entries, whose hashes do not cover them."""
    for name in COLUMNS:
        op.add_column("audit", sa.Column(name, sa.Text))
