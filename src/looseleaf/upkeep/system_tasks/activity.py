"""The activity of a day: the agent's own jobs and conversations, as the prompt lists them."""

from __future__ import annotations

from looseleaf.memory.day import parse_date
from looseleaf.times import DAY_SECONDS
from looseleaf.workflows.job_list import JobFilter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from looseleaf.chat.session import Session, Sessions
    from looseleaf.workflows.job_list import Jobs

DAILY_MEMORY_TYPE = "daily_memory_generation"
RETENTION_PREFIX = "retention_"
_MOST_JOBS = 500
_PAGE = 100
_MOST_SESSIONS = 500
_LONGEST_TITLE = 120


def format_activity(date: str, jobs: Iterable[str], sessions: Iterable[str]) -> str:
    """Write the section of the prompt, or "" if nothing happened."""
    parts = []
    for title, lines in (
        (f"## Jobs completed on {date}", list(jobs)),
        (f"## Chat sessions on {date}", list(sessions)),
    ):
        if lines:
            parts.append("\n".join((title, *lines)))
    return "## Today's Activity\n\n" + "\n\n".join(parts) + "\n" if parts else ""


def list_job_lines(jobs: Jobs, agent_id: int, date: str) -> list[str]:
    """List the jobs of an agent that were created on a day, oldest first.

    The jobs of upkeep are left out: they run every day, even if nothing else happened.
    """
    day = parse_date(date)
    if day is None:
        return []
    start, end = day.timestamp, day.timestamp + DAY_SECONDS
    of_day = JobFilter(agent_ids=(agent_id,), created_from=start, created_until=end)
    page, _total = jobs.list(of_day, limit=_MOST_JOBS)
    return [
        f"- [{job.source}] {_shorten(job.label) or f'Job #{job.id}'}: {_shorten(job.status_text)}"
        for job in reversed(page)
        if not is_upkeep(job.task_type)
    ]


def is_upkeep(task_type: str) -> bool:
    """Return whether a task is upkeep, which is no activity of the agent."""
    return task_type == DAILY_MEMORY_TYPE or task_type.startswith(RETENTION_PREFIX)


def list_session_lines(sessions: Sessions, agent_id: int, date: str) -> list[str]:
    """List the conversations that an agent began on a day, oldest first."""
    day = parse_date(date)
    if day is None:
        return []
    start, end = day.timestamp, day.timestamp + DAY_SECONDS
    selection: list[Session] = []
    for offset in range(0, _MOST_SESSIONS, _PAGE):
        page, _total = sessions.list(agents=[agent_id], limit=_PAGE, offset=offset)
        selection += [session for session in page if start <= session.created < end]
        # Sorted by last use, newest first: later pages have only sessions from before the day.
        if len(page) < _PAGE or page[-1].updated < start:
            break
    selection.sort(key=lambda session: session.created)
    return [
        f"- [{session.mode}] {_shorten(session.title) or 'Untitled session'}"
        for session in selection
    ]


def _shorten(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_TITLE]
