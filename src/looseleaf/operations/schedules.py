"""Schedules: what runs when, with the next times; run one now, pause it or let it go on."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import agent_of
from looseleaf.catalog.workflows.job_documents import JobInfo, describe_job
from looseleaf.catalog.workflows.workflow_access import find_agent_slug, find_parent_job
from looseleaf.errors import Forbidden, Refused
from looseleaf.errors.agents import AgentMissing
from looseleaf.errors.workflows import ScheduleMissing
from looseleaf.times import format_local, format_time
from looseleaf.values import value
from looseleaf.workflows.parts import jobs_of
from looseleaf.workflows.schedules.timing import list_times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.context import Context
    from looseleaf.workflows.schedules.schedule import ScheduleEntry, ScheduleState

SHOWN_TIMES = 3


@value(kw_only=True)
class ScheduleInfo:
    """One schedule.

    Fields:
        schedule: The id: flow: and the id of a flow, or task: and a name.
        label: The name for people.
        kind: flow or task.
        when: The interval or the cron expression.
        zone: The time zone of a cron expression.
        agent: The slug of the agent of a flow; "" for a task.
        task_type: The task; "" for a flow.
        per_agent: Whether the task runs for every agent.
        status: active, paused, disabled, manual, over or failing.
        next_runs: The next three times, in UTC.
        next_local: The next three times in the zone, for people.
        last_run: The last time; "" before the first.
        last_job: The newest job; 0 before the first.
        problem: Why the last run could not be started.
    """

    schedule: str
    label: str
    kind: str
    when: str
    zone: str
    agent: str
    task_type: str
    per_agent: bool
    status: str
    next_runs: tuple[str, ...]
    next_local: tuple[str, ...]
    last_run: str
    last_job: int
    problem: str


@operation("looseleaf/list-schedules", permission="read", categories=("schedules",), read_only=True)
def list_schedules(context: Context) -> list[ScheduleInfo]:
    """List the schedules of flows and tasks, each with its next three times."""
    entries = jobs_of(context.parts).schedule_firing.reconcile()
    states = jobs_of(context.parts).schedule_states.list()
    return [
        _describe(context, entry, states.get(entry.id))
        for entry in entries
        if _is_visible(context, entry)
    ]


@operation("looseleaf/run-schedule", permission="flows", categories=("schedules",))
def run_schedule(context: Context, schedule: str) -> list[JobInfo]:
    """Start the jobs of a schedule now; its next time stays as it is.

    Arguments:
        schedule: The id of the schedule, as the list shows it.
    """
    entry = _find(context, schedule)
    if find_parent_job(context):
        raise Refused("A job starts no schedules; it starts a flow with execute-workflow.")
    jobs = jobs_of(context.parts).schedule_firing.run_now(entry)
    return [describe_job(context, job) for job in jobs]


@operation(
    "looseleaf/pause-schedule", permission="flows", categories=("schedules",), idempotent=True
)
def pause_schedule(context: Context, schedule: str) -> ScheduleInfo:
    """Pause a schedule: its times pass without a run.

    Arguments:
        schedule: The id of the schedule, as the list shows it.
    """
    return _set_pause(context, schedule, is_paused=True)


@operation(
    "looseleaf/resume-schedule", permission="flows", categories=("schedules",), idempotent=True
)
def resume_schedule(context: Context, schedule: str) -> ScheduleInfo:
    """Resume a paused schedule; a time that passed meanwhile fires once.

    Arguments:
        schedule: The id of the schedule, as the list shows it.
    """
    return _set_pause(context, schedule, is_paused=False)


def _set_pause(context: Context, schedule: str, *, is_paused: bool) -> ScheduleInfo:
    entry = _find(context, schedule)
    if not jobs_of(context.parts).schedule_states.pause(entry.id, is_paused=is_paused):
        raise Refused(f"The schedule {schedule} runs nothing by itself: it is {_switch(entry)}.")
    return _describe(context, entry, jobs_of(context.parts).schedule_states.list().get(entry.id))


def _find(context: Context, schedule: str) -> ScheduleEntry:
    entries = jobs_of(context.parts).schedule_firing.reconcile()
    entry = next((entry for entry in entries if entry.id == schedule), None)
    if entry is None or not _is_visible(context, entry):
        raise ScheduleMissing(schedule)
    if not entry.flow_id:
        context.allow()
    return entry


def _is_visible(context: Context, entry: ScheduleEntry) -> bool:
    """Return whether the principal may know of a schedule; tasks belong to the workspace."""
    if context.principal.is_local:
        return True
    try:
        if entry.agent_id:
            agent_of(context, entry.agent_id)
            return True
    except AgentMissing:
        return False
    try:
        context.with_permission("settings").allow()
    except Forbidden:
        return False
    return True


def _switch(entry: ScheduleEntry) -> str:
    return "manual" if entry.timing.is_manual else "disabled"


def _describe(context: Context, entry: ScheduleEntry, state: ScheduleState | None) -> ScheduleInfo:
    times: tuple[float, ...] = ()
    status = _switch(entry)
    if entry.is_active and state is not None:
        status = "paused" if state.is_paused else "failing" if state.is_failing else "active"
        if state.next_run is None:
            status = "over"
        else:
            times = list_times(entry.timing, state.next_run, SHOWN_TIMES, zone=entry.zone)
    return ScheduleInfo(
        schedule=entry.id,
        label=entry.label,
        kind="flow" if entry.flow_id else "task",
        when=entry.timing.describe(),
        zone=entry.zone,
        agent=find_agent_slug(context, entry.agent_id) if entry.agent_id else "",
        task_type=entry.task_type,
        per_agent=entry.per_agent,
        status=status,
        next_runs=tuple(map(format_time, times)),
        next_local=tuple(format_local(time, entry.zone) for time in times),
        last_run=format_time(state.last_run) if state and state.last_run else "",
        last_job=state.last_job if state else 0,
        problem=state.problem if state else "",
    )
