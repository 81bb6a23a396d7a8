"""Items that steps of flows have taken."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Create the table of processed items."""
    op.create_table(
        "processed_items",
        sa.Column("flow_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("step_id", sa.Text, primary_key=True),
        sa.Column("item_key", sa.Text, primary_key=True),
        sa.Column("job_id", sa.BigInteger, nullable=False, index=True),
        sa.Column("time", sa.BigInteger, nullable=False, index=True),
    )
