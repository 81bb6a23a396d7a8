"""Jobs in words: statuses, times and links to revisions."""

from __future__ import annotations

from looseleaf.features.workflows.job_views import build_job_row, build_step_rows, link_writes
from looseleaf.features.workflows.jobs.documents import JobInfo, StepInfo, WriteInfo
from looseleaf.values import replace

START = "2026-04-17T09:30:00Z"
NOW = 1776418205.0  # five seconds later
JOB = JobInfo(
    job_id=7,
    label="",
    status="processing",
    reason="",
    source="pipeline",
    pipeline_id=1,
    flow_id=1,
    agent="ada",
    task_type="",
    created_at=START,
    started_at=START,
    completed_at="",
    seconds=0.0,
    next_attempt_at="",
    attempts=0,
    model="",
    input_tokens=3,
    output_tokens=4,
)


def test_a_running_job_counts_until_now() -> None:
    """And one that has ended says what it took."""
    row = build_job_row(JOB, NOW)
    assert (row.label, row.status, row.duration, row.tokens) == ("Job 7", "running", 5.0, 7)
    ended = replace(JOB, status="failed", completed_at=START, seconds=1.25, reason="No model.")
    row = build_job_row(ended, NOW)
    assert (row.status, row.duration, row.reason, row.tone) == (
        "failed",
        1.25,
        "No model.",
        "attention",
    )
    assert build_job_row(replace(JOB, started_at="", status="pending"), NOW).duration is None


def test_a_job_that_waits_says_for_what() -> None:
    """For a worker, for its time, or for its next attempt."""
    pending = replace(JOB, status="pending")
    assert build_job_row(pending, NOW).status == "waits for a worker"
    later = replace(pending, next_attempt_at=START)
    assert build_job_row(later, NOW).status == "begins at 2026-04-17 09:30 UTC"
    again = replace(later, attempts=1)
    assert build_job_row(again, NOW).status == "tried again at 2026-04-17 09:30 UTC"


def test_a_step_shows_its_progress_and_then_its_reason() -> None:
    """A step that has not begun has no time."""
    step = StepInfo(
        id="write",
        type="ai",
        label="",
        status="processing",
        reason="late",
        started_at=START,
        ended_at="",
        seconds=0.0,
        attempts=1,
        interruptions=0,
        progress="asks the model",
        input_tokens=1,
        output_tokens=2,
        packets=0,
        writes=(),
        artifacts=(),
    )
    (row,) = build_step_rows(replace(JOB, steps=(step,)), NOW)
    assert (row.label, row.detail, row.duration, row.is_running) == (
        "ai",
        "asks the model",
        5.0,
        True,
    )
    failed = replace(step, status="failed", ended_at=START, seconds=0.5)
    (row,) = build_step_rows(replace(JOB, steps=(failed,)), NOW)
    assert (row.detail, row.duration) == ("late", 0.5)
    (row,) = build_step_rows(replace(JOB, steps=(replace(step, status="pending"),)), NOW)
    assert row.duration is None


def test_a_write_leads_to_its_revision() -> None:
    """Of the agent whose page it is; names are escaped."""
    own = WriteInfo("daily/2026/04/17.md", "agent", "ada", 0, 3, "append")
    shared = WriteInfo("a b.md", "shared", "", 0, 1, "write")
    first, second = link_writes((own, shared), "bob")
    assert first.link == "/admin/agents/ada/history/agent/daily/2026/04/17.md?revision=3"
    assert second.link == "/admin/agents/bob/history/shared/a%20b.md?revision=1"
    assert link_writes((shared,), "")[0].link == ""
