"""The progress of a job on a terminal: its steps, their times and tokens, drawn again in place."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from looseleaf.cli.colors import paint
from looseleaf.cli.escapes import escape_line
from looseleaf.cli.output import count_columns, on_terminal, print_text, say
from looseleaf.operations.jobs import show_job
from looseleaf.times import now, parse_time

if TYPE_CHECKING:
    from looseleaf.catalog.context import Context
    from looseleaf.catalog.workflows.job_documents import JobInfo, StepInfo

FINAL = ("completed", "completed_no_items", "agent_skipped", "failed", "cancelled")
STILL = (*FINAL, "waiting", "paused")  # ended, or a person must act first
_MARKS = {
    "completed": ("✓", "green"),
    "processing": ("▸", "yellow"),
    "failed": ("✗", "red"),
    "waiting": ("…", "yellow"),
}
_LOOK_SECONDS = 0.2


def watch_job(context: Context, job_id: int) -> JobInfo:
    """Show a job until it ends or needs a person, and return its last state."""
    view = JobView()
    while True:
        job = show_job(context, job_id)
        view.show(job)
        if job.status in STILL or (job.status == "pending" and job.next_attempt_at):
            return job
        time.sleep(_LOOK_SECONDS)


class JobView:
    """Draws a job; without a terminal, each change of a step is one line."""

    def __init__(self) -> None:
        self._height = 0
        self._last_lines: dict[str, str] = {}
        self._is_live = on_terminal()

    def show(self, job: JobInfo) -> None:
        """Draw the job as it is now."""
        if self._is_live:
            lines = format_job(job)
            erase = f"\x1b[{self._height}A\x1b[J" if self._height else ""
            print_text(erase + "".join(f"{line}\n" for line in lines))
            self._height = len(lines)
            return
        for step in job.steps:
            line = f"{step.label or step.type}: {step.status}{_format_reason(step.reason)}"
            if step.status != "pending" and self._last_lines.get(step.id) != line:
                say(line)
            self._last_lines[step.id] = line
        if job.status in STILL and self._last_lines.get("") != job.status:
            say(describe_end(job))
            self._last_lines[""] = job.status


def format_job(job: JobInfo) -> list[str]:
    """Return the lines of a job: its name, one line for each step, and its state."""
    lines = [paint(_cut(f"Job {job.job_id}: {job.label}"), "bold")]
    lines += [_format_step(step) for step in job.steps]
    return [*lines, _cut(describe_end(job))]


def describe_end(job: JobInfo) -> str:
    """Describe the state of a job in one line."""
    tokens = job.input_tokens + job.output_tokens
    figures = f"{job.seconds:.1f} s" if job.completed_at else _format_elapsed(job.started_at)
    figures += f", {tokens} tokens" if tokens else ""
    next_attempt = f", again at {job.next_attempt_at}" if job.next_attempt_at else ""
    state = f"{job.status}{_format_reason(job.reason)}{next_attempt}"
    return f"{state} ({figures})" if figures else state


def _format_step(step: StepInfo) -> str:
    mark, color = _MARKS.get(step.status, ("·", ""))
    seconds = ""
    if step.status != "pending":
        seconds = f"{step.seconds:.1f} s" if step.ended_at else _format_elapsed(step.started_at)
    tokens = step.input_tokens + step.output_tokens
    attempts = f"{step.attempts} attempts" if step.attempts > 1 else ""
    details = [text for text in (attempts, seconds, f"{tokens} tokens" if tokens else "") if text]
    details += [f"{write.file} revision {write.revision}" for write in step.writes]
    state = step.progress or step.reason
    text = _cut(f"{step.label or step.type}  {', '.join(details)}  {state}".rstrip(), 4)
    return f"  {paint(mark, color) if color else mark} {text}"


def _format_elapsed(start: str) -> str:
    return f"{max(now() - parse_time(start), 0.0):.1f} s" if start else ""


def _format_reason(reason: str) -> str:
    return f": {reason}" if reason else ""


def _cut(text: str, margin: int = 0) -> str:
    space = max(count_columns() - margin - 1, 20)
    line = escape_line(text)
    return line if len(line) <= space else f"{line[: space - 1]}…"
