"""Jobs with their steps and effects, the processes that run them, and schedules."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Create the tables of jobs, workers and schedules."""
    _create_jobs()
    _create_steps()
    op.create_table(
        "job_effects",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("page", sa.Text, primary_key=True),
        sa.Column("content_hash", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("time", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("beat_at", sa.BigInteger, nullable=False),
        sa.Column("beats", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "schedules",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("timing", sa.Text, nullable=False),
        sa.Column("next_run", sa.BigInteger),
        sa.Column("last_run", sa.BigInteger, nullable=False),
        sa.Column("last_job", sa.Integer, nullable=False),
        sa.Column("is_paused", sa.Boolean, nullable=False),
        sa.Column("rejections", sa.Integer, nullable=False),
        sa.Column("problem", sa.Text, nullable=False),
    )
    op.create_index("ix_schedules_next_run", "schedules", ["next_run"])


def _create_jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.Integer, primary_key=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("label", "source")),
        *(
            sa.Column(name, sa.Integer, nullable=False)
            for name in ("pipeline_id", "flow_id", "agent_id", "user_id")
        ),
        sa.Column("task_type", sa.Text, nullable=False),
        sa.Column("parent_id", sa.Integer, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("status", "reason")),
        *(
            sa.Column(name, sa.BigInteger, nullable=False)
            for name in ("created_at", "started_at", "completed_at", "not_before")
        ),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("idempotency_key", sa.Text, unique=True),
        *(
            sa.Column(name, sa.Text, nullable=False)
            for name in ("usage", "snapshot", "wish", "worker")
        ),
        sa.Column("run", sa.Integer, nullable=False),
        sqlite_autoincrement=True,
    )
    for column in ("flow_id", "agent_id", "created_at"):
        op.create_index(f"ix_jobs_{column}", "jobs", [column])
    op.create_index("ix_jobs_status", "jobs", ["status", "not_before", "id"])


def _create_steps() -> None:
    op.create_table(
        "job_steps",
        sa.Column(
            "job_id",
            sa.Integer,
            sa.ForeignKey("jobs.id", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        *(
            sa.Column(name, sa.Text, nullable=False)
            for name in ("step_id", "type", "label", "status", "reason")
        ),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("started_at", "ended_at")),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("progress", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text),
        sa.Column("gate", sa.Text, nullable=False),
        sa.Column("signal", sa.Text),
    )
    op.create_index("ix_job_steps_step_id", "job_steps", ["job_id", "step_id"], unique=True)
