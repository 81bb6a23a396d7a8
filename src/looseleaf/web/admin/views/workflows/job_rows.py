"""Jobs and their steps as rows: the status in words, times, tokens and the pages they changed."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from looseleaf.times import parse_time
from looseleaf.values import value
from looseleaf.web.admin.views.memory.page_header import build_page_link
from looseleaf.workflows.job import FINAL

if TYPE_CHECKING:
    from looseleaf.catalog.workflows.job_documents import JobInfo, StepInfo, WriteInfo

STATUS_WORDS = {
    "pending": "waits for a worker",
    "processing": "running",
    "waiting": "waits for a call",
    "paused": "paused",
    "completed": "done",
    "completed_no_items": "done, nothing to do",
    "agent_skipped": "done, the agent chose to do nothing",
    "failed": "failed",
    "cancelled": "cancelled",
}
STEP_WORDS = {
    "pending": "not begun",
    "processing": "running",
    "completed": "done",
    "no_items": "nothing to do",
    "waiting": "waits for a call",
    "skipped": "skipped",
    "failed": "failed",
}
# The color of a status: grey, the accent, or amber if a person should look.
_TONES = {"processing": "today", "waiting": "attention", "failed": "attention"}
_STEP_MARKS = {"completed": "✓", "no_items": "✓", "processing": "▸", "waiting": "…", "failed": "✗"}


@value
class WriteLink:
    """A page that a job changed, and the address of that revision."""

    file: str
    revision: int
    operation: str
    link: str


@value(kw_only=True)
class JobRow:
    """A job as a list shows it."""

    number: int
    label: str
    agent: str
    link: str
    status: str
    tone: str
    reason: str
    created: float
    duration: float | None  # None before its first step
    is_running: bool
    tokens: int
    writes: tuple[WriteLink, ...]


@value(kw_only=True)
class StepRow:
    """A step of a job as its page shows it."""

    id: str
    label: str
    type: str
    status: str
    mark: str
    state: str  # the status as a class of styles
    detail: str
    attempts: int
    duration: float | None
    is_running: bool
    tokens: int
    packets: int
    writes: tuple[WriteLink, ...]


def build_job_address(job: JobInfo) -> str:
    """Return the address of the page of a job."""
    place = f"agents/{quote(job.agent)}/jobs" if job.agent else "jobs"
    return f"/admin/{place}/{job.job_id}"


def build_job_row(job: JobInfo, now: float) -> JobRow:
    """Describe a job for a list."""
    is_final = job.status in FINAL
    is_running = bool(job.started_at) and job.status == "processing"
    return JobRow(
        number=job.job_id,
        label=job.label or f"Job {job.job_id}",
        agent=job.agent,
        link=build_job_address(job),
        status=_describe_status(job),
        tone=_TONES.get(job.status, ""),
        reason=job.reason if job.status != "waiting" else "",
        created=parse_time(job.created_at),
        duration=_measure_duration(job.started_at, job.seconds if is_final else None, now),
        is_running=is_running,
        tokens=job.input_tokens + job.output_tokens,
        writes=link_writes(job.writes, job.agent),
    )


def build_step_rows(job: JobInfo, now: float) -> list[StepRow]:
    """Describe the steps of a job."""
    return [_build_step_row(step, job.agent, now) for step in job.steps]


def _build_step_row(step: StepInfo, agent: str, now: float) -> StepRow:
    is_running = step.status == "processing"
    started_at = step.started_at if step.status != "pending" else ""
    # The address of a gate stands above the steps; the reason would only name the command for it.
    reason = step.reason if step.status != "waiting" else ""
    return StepRow(
        id=step.id,
        label=step.label or step.type.replace("_", " "),
        type=step.type,
        status=STEP_WORDS.get(step.status, step.status),
        mark=_STEP_MARKS.get(step.status, "·"),
        state=step.status,
        detail=step.progress if is_running and step.progress else reason,
        attempts=step.attempts,
        duration=_measure_duration(started_at, step.seconds if step.ended_at else None, now),
        is_running=is_running,
        tokens=step.input_tokens + step.output_tokens,
        packets=step.packets,
        writes=link_writes(step.writes, agent),
    )


def link_writes(writes: tuple[WriteInfo, ...], agent: str) -> tuple[WriteLink, ...]:
    """Return the pages that were changed, each with the address of its revision."""
    return tuple(
        WriteLink(
            write.file,
            write.revision,
            write.operation,
            f"{build_page_link(write.agent or agent, write.layer, write.file, 'history')}"
            f"?revision={write.revision}"
            if write.agent or agent
            else "",
        )
        for write in writes
    )


def _describe_status(job: JobInfo) -> str:
    words = STATUS_WORDS.get(job.status, job.status)
    if job.status == "pending" and job.next_attempt_at:
        time = job.next_attempt_at[:16].replace("T", " ")
        return f"tried again at {time} UTC" if job.attempts else f"begins at {time} UTC"
    return words


def _measure_duration(start: str, seconds: float | None, now: float) -> float | None:
    """Measure the seconds from a start to its end, or until now, or None before the start."""
    if not start:
        return None
    return max(now - parse_time(start), 0.0) if seconds is None else seconds
