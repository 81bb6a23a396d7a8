"""Pipelines and flows, and the prompts that jobs have taken from the queues of flows."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Create the tables of definitions."""
    op.create_table(
        "pipelines",
        sa.Column("id", sa.Integer, primary_key=True),
        *_build_text_columns("slug", "name"),
        *_build_number_columns("agent_id", "user_id"),
        *_build_text_columns("system_prompt", "memory_files", "tool_policy", "steps"),
        *_build_last_columns(),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_pipelines_slug", "pipelines", ["agent_id", "slug"], unique=True)
    op.create_table(
        "flows",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("pipeline_id", sa.Integer, sa.ForeignKey("pipelines.id"), nullable=False),
        *_build_text_columns("slug", "name"),
        *_build_number_columns("agent_id", "user_id"),
        *_build_text_columns("memory_files", "step_settings", "prompt_queue", "queue_mode"),
        *_build_text_columns("schedule", "run_artifacts"),
        *_build_last_columns(),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_flows_slug", "flows", ["pipeline_id", "slug"], unique=True)
    op.create_index("ix_flows_agent_id", "flows", ["agent_id"])
    flow = sa.ForeignKey("flows.id", ondelete="CASCADE")
    op.create_table(
        "flow_prompts",
        sa.Column("flow_id", sa.Integer, flow, primary_key=True, autoincrement=False),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("prompt", sa.Text),
        sa.Column("time", sa.BigInteger, nullable=False),
    )
    state = sa.table("state", sa.column("name"), sa.column("number"), sa.column("text"))
    rows = [{"name": name, "number": 0, "text": ""} for name in ("pipelines", "flows")]
    op.bulk_insert(state, rows)


def _build_text_columns(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


def _build_number_columns(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.Integer, nullable=False) for name in names]


def _build_last_columns() -> list[sa.Column[int] | sa.Column[str]]:
    times = [sa.Column(name, sa.BigInteger, nullable=False) for name in ("created", "updated")]
    return [*times, *_build_text_columns("digest")]
