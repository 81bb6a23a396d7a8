"""The tables of the database, as the newest migration leaves them."""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()

# Times are microseconds since 1970, UTC: a whole number is the same in every database.
users = sa.Table(
    "users",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("login", sa.Text, nullable=False),
    sa.Column("folded", sa.Text, nullable=False, unique=True),  # the login, folded for comparison
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("email", sa.Text, nullable=False),
    sa.Column("capabilities", sa.Text, nullable=False),  # separated by blanks
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("password", sa.Text, nullable=False),
    sa.Column("digest", sa.Text),  # see row_digests.py; null in rows of older versions
)
grants = sa.Table(
    "grants",
    metadata,
    sa.Column("user_id", sa.Integer, sa.ForeignKey("users.id"), primary_key=True),
    sa.Column("agent_id", sa.Integer, primary_key=True, autoincrement=False, index=True),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("digest", sa.Text),  # see row_digests.py; null in rows of older versions
)
credentials = sa.Table(
    "credentials",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("user_id", sa.Integer, sa.ForeignKey("users.id"), nullable=False, index=True),
    sa.Column("secret", sa.Text, nullable=False),
    sa.Column("agent_id", sa.Integer, nullable=False, index=True),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("ceiling", sa.Text),  # separated by blanks; null is no ceiling
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("expires", sa.BigInteger, nullable=False),
    sa.Column("last_used", sa.BigInteger, nullable=False),
    sa.Column("ended", sa.BigInteger, nullable=False),
    sa.Column("digest", sa.Text),  # see row_digests.py; null in rows of older versions
)
settings = sa.Table(
    "settings",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("setting", sa.Text, nullable=False),  # JSON
    sa.Column("digest", sa.Text),  # see row_digests.py; null in rows of older versions
)
audit = sa.Table(
    "audit",
    metadata,
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("time", sa.BigInteger, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("user_id", sa.Integer, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("credential", sa.Text, nullable=False),
    sa.Column("surface", sa.Text, nullable=False),
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Column("actor_kind", sa.Text),  # this and the next three are null in rows of older versions
    sa.Column("origin", sa.Text),
    sa.Column("activity", sa.Text),
    sa.Column("activity_id", sa.Text),
    sa.Column("previous", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
)
# One row each: "version" counts changes of accounts, "audit" holds the end of the chain, and the
# name of a table the number of its rows.
state = sa.Table(
    "state",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
)

chat_sessions = sa.Table(
    "chat_sessions",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("owner", sa.Integer, nullable=False),
    sa.Column("agent", sa.Integer, nullable=False),
    sa.Column("mode", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("titled", sa.Text, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("updated", sa.BigInteger, nullable=False, index=True),
    sa.Column("messages", sa.Integer, nullable=False),
    sa.Column("answers", sa.Integer, nullable=False),
    sa.Column("answers_read", sa.Integer, nullable=False),
    sa.Column("turns", sa.Integer, nullable=False),
    sa.Column("finished", sa.BigInteger, nullable=False),
    sa.Column("journaled", sa.Integer, nullable=False),
    sa.Column("summary", sa.Text, nullable=False),
    sa.Column("summarized", sa.Integer, nullable=False),
    sa.Column("lease", sa.Text, nullable=False),  # "" is free
    sa.Column("lease_until", sa.BigInteger, nullable=False),
    sa.Column("cancelled", sa.Integer, nullable=False),
    sa.Column("digest", sa.Text),  # see row_digests.py; null in rows of older versions
    sa.Index("ix_chat_sessions_owner", "owner", "updated"),
)
chat_turns = sa.Table(
    "chat_turns",
    metadata,
    sa.Column(
        "session",
        sa.Text,
        sa.ForeignKey("chat_sessions.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("owner", sa.Integer, nullable=False),
    sa.Column("request", sa.Text),  # null: none was given
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("started", sa.BigInteger, nullable=False),
    sa.Column("finished", sa.BigInteger, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("first", sa.Integer, nullable=False),
    sa.Column("usage", sa.Text, nullable=False),  # JSON
    sa.Column("error", sa.Text, nullable=False),
    sa.Column("written", sa.Text, nullable=False),  # JSON
    sa.Index("ix_chat_turns_request", "owner", "request", unique=True),
)
chat_messages = sa.Table(
    "chat_messages",
    metadata,
    sa.Column(
        "session",
        sa.Text,
        sa.ForeignKey("chat_sessions.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("turn", sa.Integer, nullable=False),
    sa.Column("time", sa.BigInteger, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),  # of the format of `more`
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("folded", sa.Text),  # the text for a search, where lower() is not enough
    sa.Column("more", sa.Text, nullable=False),  # JSON of calls, result or attachments
    sa.Column("native", sa.Text, nullable=False),  # JSON of the provider library
    sa.Column("digest", sa.Text),  # see row_digests.py; null in rows of older versions
)

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
    sa.Index("ix_job_steps_step_id", "job_id", "step_id", unique=True),
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
