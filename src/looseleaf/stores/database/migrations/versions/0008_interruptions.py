"""How often the process that ran a step of a job died."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the column, and an index of the few steps that were interrupted."""
    column = sa.Column("interruptions", sa.Integer, nullable=False, server_default="0")
    op.add_column("job_steps", column)
    is_interrupted = sa.text("interruptions > 0")
    op.create_index(
        "ix_job_steps_interruptions",
        "job_steps",
        ["job_id"],
        sqlite_where=is_interrupted,
        postgresql_where=is_interrupted,
    )
