"""Jobs carry their status and reason, and short labels."""

from __future__ import annotations

import pytest

from looseleaf.features.workflows.jobs.job import Job, NewJob, parse_status


def test_a_job_tells_its_state_in_one_text() -> None:
    """Status and reason stand together, as the reference stores them."""
    job = Job(
        id=7, label="News", status="failed", reason="timeout", started_at=10.0, completed_at=12.5
    )
    assert (job.status_text, job.is_final, job.seconds) == ("failed - timeout", True, 2.5)
    waiting = Job(id=8, label="News", status="waiting", started_at=10.0)
    assert (waiting.status_text, waiting.is_final, waiting.seconds) == ("waiting", False, 0.0)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("failed: timeout", ("failed", "timeout")),
        ("agent_skipped - x", ("agent_skipped", "x")),
        ("completed_no_items", ("completed_no_items", "")),
        ("completed_no_items - none", ("completed_no_items", "none")),
        ("completed", ("completed", "")),
        ("odd", ("odd", "")),
    ],
)
def test_a_status_is_read_with_its_reason(text: str, parts: tuple[str, str]) -> None:
    """The longest status that fits is taken."""
    assert parse_status(text) == parts


def test_a_long_label_is_cut() -> None:
    """The database has 255 characters for it."""
    assert len(NewJob(label="x" * 300).short_label) == 255
