"""The line of the log for each event of a job: numbers and states, and no text of anybody.

Names of jobs and reasons of failures may contain text of pages and addresses with secrets, so they
stand in the job alone, which only some people may read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.web import server_log

if TYPE_CHECKING:
    from looseleaf.workflows.execution.job_event import JobEvent

_MOST_WORKER = 80  # characters of the id of a worker


def write(event: JobEvent) -> None:
    """Write the line of an event."""
    if not server_log.is_enabled():
        return
    entry = describe_event(event)
    details = " ".join(f"{name}={entry[name]}" for name in list(entry)[2:])
    server_log.write_line(entry, f"job {event.job_id} {event.name} {details}")


def describe_event(event: JobEvent) -> dict[str, object]:
    """Return the fields of an event as the log has them."""
    entry: dict[str, object] = {"job": event.job_id, "event": event.name}
    job = event.job
    if job is None:
        return {**entry, "dead_worker": event.detail[:_MOST_WORKER]}
    entry |= {"status": job.status, "source": job.source, "agent": job.agent_id}
    entry |= {"flow": job.flow_id, "user": job.user_id}
    if event.name in ("left", "ended", "failed"):
        entry["seconds"] = round(job.seconds, 3)
    return entry
