"""Schedules: what runs when, its next times, and the buttons to run, pause and resume it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from looseleaf.errors import Invalid
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.times import parse_time
from looseleaf.values import value
from looseleaf.web.admin.views.workflows.job_rows import build_job_address
from looseleaf.web.admin.views.workflows.pipelines import may_change

if TYPE_CHECKING:
    from looseleaf.operations.schedules import ScheduleInfo
    from looseleaf.plugins.admin_pages import Visit

MOST = 200  # schedules on the page
ADDRESS = "/admin/schedules"
STATUS_WORDS = {
    "active": "",
    "paused": "paused",
    "disabled": "switched off",
    "manual": "only by hand",
    "over": "over",
    "failing": "cannot start",
}
_TONES = {"failing": "attention"}


@value(kw_only=True)
class ScheduleRow:
    """A schedule as people read it."""

    id: str
    label: str
    link: str  # the page of its flow; "" for a task
    subject: str
    timing: str
    status: str
    tone: str
    times: tuple[str, ...]
    last_run: float
    last_job: int
    problem: str
    may_change: bool
    is_paused: bool
    can_pause: bool


def list_schedules(visit: Visit) -> Document | Redirect:
    """List the schedules of flows and tasks, each with its next three times."""
    schedules: list[ScheduleInfo] = visit.run("looseleaf/list-schedules")
    agents = {agent.slug: agent for agent in visit.run("looseleaf/list-agents")}
    rows = [
        build_row(entry, is_changeable=may_change(visit, agents.get(entry.agent)))
        for entry in schedules[:MOST]
    ]
    data = {
        "flows": [row for row in rows if row.link],
        "tasks": [row for row in rows if not row.link],
        "count": len(schedules),
        "is_cut": len(schedules) > MOST,
    }
    return Document("workflows/schedules.html", "Schedules", data)


def change_schedule(visit: Visit) -> Document | Redirect:
    """Run a schedule now, pause it or resume it."""
    schedule, action = visit.form.get("schedule", ""), visit.form.get("action", "")
    if action == "run":
        jobs = visit.run("looseleaf/run-schedule", schedule=schedule)
        if len(jobs) == 1:
            return Redirect(build_job_address(jobs[0]), f"Job {jobs[0].job_id} is started.")
        return Redirect("/admin/jobs", f"{len(jobs)} jobs are started.")
    if action == "pause":
        entry = visit.run("looseleaf/pause-schedule", schedule=schedule)
        return Redirect(ADDRESS, f"{entry.label} is paused: its times pass without a run.")
    if action == "resume":
        entry = visit.run("looseleaf/resume-schedule", schedule=schedule)
        return Redirect(ADDRESS, f"{entry.label} goes on.")
    raise Invalid("The form does not say what to do. Press one of its buttons.")


def find_schedule(visit: Visit, flow: int) -> ScheduleRow | None:
    """Find the schedule of a flow, as its page shows it."""
    schedules: list[ScheduleInfo] = visit.run("looseleaf/list-schedules")
    entry = next((entry for entry in schedules if entry.schedule == f"flow:{flow}"), None)
    return build_row(entry, is_changeable=False) if entry is not None else None


def build_row(entry: ScheduleInfo, *, is_changeable: bool) -> ScheduleRow:
    """Describe a schedule in words."""
    link = ""
    if entry.kind == "flow" and entry.agent:
        link = f"/admin/agents/{quote(entry.agent)}/flows/{quote(entry.schedule.partition(':')[2])}"
    task = entry.task_type.replace("_", " ")
    subject = entry.agent if entry.kind == "flow" else task
    if entry.per_agent:
        subject = f"{task}, for every agent"
    return ScheduleRow(
        id=entry.schedule,
        label=entry.label,
        link=link,
        subject=subject,
        timing=describe_timing(entry.when, entry.zone),
        status=STATUS_WORDS.get(entry.status, entry.status),
        tone=_TONES.get(entry.status, ""),
        times=entry.next_local if entry.status != "paused" else (),
        last_run=parse_time(entry.last_run) if entry.last_run else 0.0,
        last_job=entry.last_job,
        problem=entry.problem,
        may_change=is_changeable,
        is_paused=entry.status == "paused",
        can_pause=entry.status in ("active", "failing", "paused"),
    )


def describe_timing(timing: str, zone: str) -> str:
    """Write the timing of a schedule for people: every_5_minutes becomes every 5 minutes."""
    words = {"qtrdaily": "every 6 hours", "twicedaily": "every 12 hours", "manual": "by hand"}
    is_cron = " " in timing or timing.startswith("@")
    if is_cron:
        return f"{timing} ({zone})"
    return words.get(timing, timing.replace("_", " "))
