"""The tables of pipelines, flows, jobs and schedules, as the newest migration leaves them."""

from __future__ import annotations

import sqlalchemy as sa

from looseleaf.stores.database.tables import metadata

# Ids are never given twice: folders and jobs of a deleted pipeline keep its id.
pipelines = sa.Table(
    "pipelines",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("slug", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("agent_id", sa.Integer, nullable=False),
    sa.Column("user_id", sa.Integer, nullable=False),
    sa.Column("system_prompt", sa.Text, nullable=False),
    sa.Column("memory_files", sa.Text, nullable=False),  # JSON, and so are the next two
    sa.Column("tool_policy", sa.Text, nullable=False),
    sa.Column("steps", sa.Text, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("updated", sa.BigInteger, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),  # see row_digests.py
    sa.Index("ix_pipelines_slug", "agent_id", "slug", unique=True),
    sqlite_autoincrement=True,
)
flows = sa.Table(
    "flows",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("pipeline_id", sa.Integer, sa.ForeignKey("pipelines.id"), nullable=False),
    sa.Column("slug", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("agent_id", sa.Integer, nullable=False, index=True),
    sa.Column("user_id", sa.Integer, nullable=False),
    sa.Column("memory_files", sa.Text, nullable=False),  # JSON, and so are the next two
    sa.Column("step_settings", sa.Text, nullable=False),
    sa.Column("prompt_queue", sa.Text, nullable=False),
    sa.Column("queue_mode", sa.Text, nullable=False),
    sa.Column("schedule", sa.Text, nullable=False),  # JSON, and so is the next one
    sa.Column("run_artifacts", sa.Text, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("updated", sa.BigInteger, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),  # see row_digests.py
    sa.Index("ix_flows_slug", "pipeline_id", "slug", unique=True),
    sqlite_autoincrement=True,
)
# The prompts that steps of jobs have taken from queues, by a key of the job and the step.
flow_prompts = sa.Table(
    "flow_prompts",
    metadata,
    sa.Column(
        "flow_id",
        sa.Integer,
        sa.ForeignKey("flows.id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("prompt", sa.Text),  # null: the queue was empty
    sa.Column("time", sa.BigInteger, nullable=False),
)

# Jobs and their steps change with every step, so that no digest is kept of their rows.
jobs = sa.Table(
    "jobs",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("pipeline_id", sa.Integer, nullable=False),
    sa.Column("flow_id", sa.Integer, nullable=False, index=True),
    sa.Column("agent_id", sa.Integer, nullable=False, index=True),
    sa.Column("user_id", sa.Integer, nullable=False),
    sa.Column("task_type", sa.Text, nullable=False),
    sa.Column("parent_id", sa.Integer, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False, index=True),
    sa.Column("started_at", sa.BigInteger, nullable=False),
    sa.Column("completed_at", sa.BigInteger, nullable=False),
    # For a job that has ended: -1 until its memory is cleared.
    sa.Column("not_before", sa.BigInteger, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("idempotency_key", sa.Text, unique=True),
    sa.Column("usage", sa.Text, nullable=False),  # JSON, and so is the next one
    sa.Column("snapshot", sa.Text, nullable=False),
    sa.Column("wish", sa.Text, nullable=False),  # cancel, pause or "": noticed by its worker
    sa.Column("worker", sa.Text, nullable=False),  # the process that runs it
    sa.Column("run", sa.Integer, nullable=False),  # how often a worker has taken it
    sa.Index("ix_jobs_status", "status", "not_before", "id"),
    sqlite_autoincrement=True,
)
job_steps = sa.Table(
    "job_steps",
    metadata,
    sa.Column(
        "job_id",
        sa.Integer,
        sa.ForeignKey("jobs.id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("step_id", sa.Text, nullable=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("started_at", sa.BigInteger, nullable=False),
    sa.Column("ended_at", sa.BigInteger, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("progress", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text),  # JSON, once the step has ended
    sa.Column("gate", sa.Text, nullable=False),  # digest of the secret that wakes it
    sa.Column("signal", sa.Text),  # JSON of the call that woke it
    # How often the process that ran it died.
    sa.Column("interruptions", sa.Integer, nullable=False, server_default="0"),
    sa.Index("ix_job_steps_step_id", "job_id", "step_id", unique=True),
)
# Every start of a job looks for interrupted steps, and nearly always there are none.
_IS_INTERRUPTED = job_steps.c.interruptions > 0
sa.Index(
    "ix_job_steps_interruptions",
    job_steps.c.job_id,
    sqlite_where=_IS_INTERRUPTED,
    postgresql_where=_IS_INTERRUPTED,
)
job_effects = sa.Table(
    "job_effects",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("page", sa.Text, primary_key=True),
    sa.Column("content_hash", sa.Text, nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("time", sa.BigInteger, nullable=False),
)
workers = sa.Table(
    "workers",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("started_at", sa.BigInteger, nullable=False),
    sa.Column("beat_at", sa.BigInteger, nullable=False),  # for people
    sa.Column("beats", sa.BigInteger, nullable=False),  # no longer grows: the worker is dead
)
schedules = sa.Table(
    "schedules",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("timing", sa.Text, nullable=False),  # JSON; a change sets a new next run
    sa.Column("next_run", sa.BigInteger, index=True),  # null: no run by itself
    sa.Column("last_run", sa.BigInteger, nullable=False),
    sa.Column("last_job", sa.Integer, nullable=False),
    sa.Column("is_paused", sa.Boolean, nullable=False),
    sa.Column("rejections", sa.Integer, nullable=False),  # in a row
    sa.Column("problem", sa.Text, nullable=False),  # why the last run was rejected
)
processed_items = sa.Table(
    "processed_items",
    metadata,
    sa.Column("flow_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("step_id", sa.Text, primary_key=True),
    sa.Column("item_key", sa.Text, primary_key=True),
    sa.Column("job_id", sa.BigInteger, nullable=False, index=True),
    sa.Column("time", sa.BigInteger, nullable=False, index=True),
)
