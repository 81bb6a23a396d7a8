"""Jobs: start a flow or steps, look at runs, and cancel, pause, resume, retry or delete them."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.json_values import bound_limit, bound_offset
from looseleaf.catalog.resolution import agent_of
from looseleaf.errors import Forbidden, InvalidArgument, Refused
from looseleaf.errors.features import PipelineMissing, ScheduleMissing
from looseleaf.errors.pages import AgentMissing
from looseleaf.features.workflows.access import (
    check_step_names,
    check_step_values,
    find_agent_slug,
    find_flow,
    find_job,
    find_parent_job,
    find_pipeline,
    list_agent_ids,
)
from looseleaf.features.workflows.artifacts import SecretMask, list_secrets
from looseleaf.features.workflows.definitions import Flow, Step, check_steps, number_steps
from looseleaf.features.workflows.jobs.documents import (
    JobInfo,
    JobList,
    PacketFields,
    PacketInfo,
    describe_job,
    describe_packet,
)
from looseleaf.features.workflows.jobs.job import DIRECT, STATUSES
from looseleaf.features.workflows.jobs.queue import JobFilter
from looseleaf.features.workflows.jobs.run import Plan, plan_direct_job, plan_flow_job
from looseleaf.features.workflows.packet import create_packet
from looseleaf.features.workflows.parts import definitions_of, jobs_of, resources_of, step_types_of
from looseleaf.features.workflows.schedules import list_times
from looseleaf.times import format_local, format_time, parse_time
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.services import WorkspaceServices
    from looseleaf.features.workflows.jobs.folders import OldFileCount, OldFileTimes
    from looseleaf.features.workflows.jobs.job import Job, JobStatus, NewJob
    from looseleaf.features.workflows.packet import Packet
    from looseleaf.features.workflows.schedules import ScheduleEntry, ScheduleState


# Schedules: what runs when, with the next times; run one now, pause it or let it go on.


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
    return _describe_all(context, [entry for entry in entries if _is_visible(context, entry)])


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
    return _describe_all(context, [entry])[0]


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


def _describe_all(context: Context, entries: list[ScheduleEntry]) -> list[ScheduleInfo]:
    """Describe schedules with their newest jobs.

    A flow is also run by hand, on its page and by other surfaces, which no schedule knows of; and
    a schedule that does not run by itself has no state.
    """
    services = jobs_of(context.parts)
    states = services.schedule_states.list()
    by_flow = services.jobs.find_newest([entry.flow_id for entry in entries if entry.flow_id])
    tasks = {entry.task_type for entry in entries if entry.task_type}
    by_task = services.jobs.find_newest_of_tasks(tasks)
    return [
        _describe(
            context,
            entry,
            states.get(entry.id),
            by_flow.get(entry.flow_id) or by_task.get((entry.task_type, entry.label)) or (0, 0.0),
        )
        for entry in entries
    ]


def _describe(
    context: Context,
    entry: ScheduleEntry,
    state: ScheduleState | None,
    newest: tuple[int, float],  # its newest job, and the time
) -> ScheduleInfo:
    times: tuple[float, ...] = ()
    status = _switch(entry)
    if entry.is_active and state is not None:
        status = "paused" if state.is_paused else "failing" if state.is_failing else "active"
        if state.next_run is None:
            status = "over"
        else:
            times = list_times(entry.timing, state.next_run, SHOWN_TIMES, zone=entry.zone)
    last_run = max(state.last_run if state else 0.0, newest[1])
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
        last_run=format_time(last_run) if last_run else "",
        last_job=max(state.last_job if state else 0, newest[0]),
        problem=state.problem if state else "",
    )


# Removing what workflows leave: ended jobs, old files, and items that were taken.


def delete_jobs(parts: WorkspaceServices, jobs: Iterable[Job]) -> int:
    """Delete jobs that have ended, each with its folder and artifacts; return how many.

    The folders are removed first: if that fails, the row of the job stays for the next attempt.
    """
    jobs = [job for job in jobs if job.is_final]
    files = resources_of(parts).files
    for job in jobs:
        files.remove_packets(job)
        files.remove_artifacts(job.id)
    return jobs_of(parts).jobs.delete([job.id for job in jobs])


def remove_files(parts: WorkspaceServices, times: OldFileTimes, *, dry_run: bool) -> OldFileCount:
    """Remove the files of workflows that were last changed before these times, or count them."""
    old_files = resources_of(parts).old_files
    return old_files.count(times) if dry_run else old_files.remove(times)


def forget_items(parts: WorkspaceServices, before: float, *, dry_run: bool) -> int:
    """Delete items that no source has offered since a time, or count them."""
    if not parts.has_accounts():
        return 0
    return resources_of(parts).processed_items().prune(before=before, dry_run=dry_run)


MOST_PACKETS = 100


@value
class JobsDeleted:
    """How many jobs were deleted."""

    deleted: int


@operation("datamachine/execute-workflow", permission="flows", categories=("jobs",))
def execute(  # noqa: PLR0913 - one for each part of a job
    context: Context,
    *,
    flow: str | int | None = None,
    pipeline: str | int | None = None,
    steps: tuple[Step, ...] = (),
    initial_packets: tuple[PacketFields, ...] = (),
    agent: str | int | None = None,
    label: str = "",
    timestamp: str = "",
    request: str = "",
) -> JobInfo:
    """Start a job: one run of a flow, of a pipeline without one, or of steps of no pipeline.

    The job runs for the user who starts it, with the rights of that user on the agent.

    Arguments:
        flow: The flow to run, by id, slug, or pipeline/slug.
        pipeline: Without a flow, the pipeline to run once, to try it, by id, slug, or agent/slug;
            the items that it takes stay new for its flows.
        steps: Without both, the steps to run in order; a step without an id gets one.
        initial_packets: Packets that the first step is given, newest first.
        agent: With steps, the agent that the job acts as, by id or slug; else the default.
        label: The name of the job for people; else it is named after the flow or the first step.
        timestamp: The time before which the job does not begin, such as 2026-04-17T09:30Z.
        request: A key of the caller; a second call with the same key returns the same job.
    """
    packets = tuple(_read_packet(context, fields) for fields in initial_packets)
    if [flow is not None, pipeline is not None, bool(steps)].count(True) != 1:
        raise InvalidArgument("flow", "give a flow, a pipeline, or steps, and one of them alone")
    if flow is not None:
        job = _plan_flow(context, flow, packets)
    elif pipeline is not None:
        job = _plan_pipeline(context, pipeline, packets)
    else:
        job = _plan_steps(context, steps, packets, agent)
    job = replace(
        job,
        label=label or job.label,
        user_id=context.principal.user_id or job.user_id,
        parent_id=_find_parent(context),
        not_before=_read_time(timestamp),
        idempotency_key=f"request:{context.principal.user_id}:{request}" if request else "",
    )
    return describe_job(context, jobs_of(context.parts).jobs.add(job)[0])


@operation("datamachine/get-jobs", permission="read", categories=("jobs",), read_only=True)
def list_jobs(  # noqa: PLR0913 - one for each way to choose
    context: Context,
    *,
    status: str = "",
    flow: str | int | None = None,
    pipeline: str | int | None = None,
    agent: str | int | None = None,
    source: str = "",
    task_type: str = "",
    limit: int = 20,
    offset: int = 0,
) -> JobList:
    """List jobs, newest first.

    Arguments:
        status: The only status that is listed, such as failed; several are separated by commas.
        flow: The flow whose jobs are listed, by id, slug, or pipeline/slug.
        pipeline: The pipeline whose jobs are listed, by id, slug, or agent/slug.
        agent: The agent whose jobs are listed, by id or slug; else every agent that one may see.
        source: What started the jobs: pipeline, system, direct or chat.
        task_type: The system task whose jobs are listed.
        limit: The most jobs to give, from 1 to 100.
        offset: How many jobs to pass over first, to read a long list in parts.
    """
    agents = list_agent_ids(context, agent)
    jobs = JobFilter(
        statuses=_read_statuses(status),
        pipeline_id=find_pipeline(context, pipeline).id if pipeline is not None else None,
        flow_id=find_flow(context, flow).id if flow is not None else None,
        agent_ids=None if agents is None else tuple(agents),
        source=source,
        task_type=task_type,
    )
    page_size, start = bound_limit(limit), bound_offset(offset)
    page, total = jobs_of(context.parts).jobs.list(jobs, limit=page_size, offset=start)
    return JobList(tuple(describe_job(context, job) for job in page), total, page_size, start)


@operation("datamachine/get-job", permission="read", categories=("jobs",), read_only=True)
def show_job(context: Context, job: int) -> JobInfo:
    """Show a job with its steps, their times and tokens, and the pages they changed.

    Arguments:
        job: The number of the job.
    """
    return describe_job(context, find_job(context, job))


@operation("looseleaf/show-job-packets", permission="read", categories=("jobs",), read_only=True)
def show_packets(context: Context, job: int, *, step: str = "") -> list[PacketInfo]:
    """Show the packets of a job, newest first, at most 100 of them; secrets are masked.

    Arguments:
        job: The number of the job.
        step: The id of the only step whose packets are shown.
    """
    find_job(context, job)
    mask = SecretMask(list_secrets(context.settings))
    state = jobs_of(context.parts).jobs.state(job)
    packets: list[PacketInfo] = []
    for record in reversed(state.job.steps):
        outcome = state.outcomes.get(record.id)
        if outcome is not None and step in {"", record.id}:
            packets += [describe_packet(record.id, packet, mask) for packet in outcome.packets]
    return packets[:MOST_PACKETS]


@operation("looseleaf/cancel-job", permission="flows", categories=("jobs",), idempotent=True)
def cancel_job(context: Context, job: int) -> JobInfo:
    """Cancel a job; a running step is told, and ends as soon as it can.

    Arguments:
        job: The number of the job.
    """
    return _request_act(context, job, "cancel")


@operation("looseleaf/pause-job", permission="flows", categories=("jobs",), idempotent=True)
def pause_job(context: Context, job: int) -> JobInfo:
    """Pause a job; a running step is finished first.

    Arguments:
        job: The number of the job.
    """
    return _request_act(context, job, "pause")


@operation("looseleaf/resume-job", permission="flows", categories=("jobs",), idempotent=True)
def resume_job(context: Context, job: int) -> JobInfo:
    """Resume a paused job.

    Arguments:
        job: The number of the job.
    """
    return _request_act(context, job, "resume")


@operation("looseleaf/retry-job", permission="flows", categories=("jobs",))
def retry_job(context: Context, job: int) -> JobInfo:
    """Run a failed or cancelled job again, from the step that did not end well.

    Arguments:
        job: The number of the job.
    """
    return _request_act(context, job, "retry")


@operation("looseleaf/delete-job", permission="flows", categories=("jobs",), destructive=True)
def delete_job(context: Context, job: int) -> JobsDeleted:
    """Delete a job that has ended, with its packets and artifacts; pages that it changed stay.

    Arguments:
        job: The number of the job.
    """
    record = find_job(context, job)
    if not record.is_final:
        raise InvalidArgument("job", f"it is {record.status}; cancel it first")
    return JobsDeleted(delete_jobs(context.parts, [record]))


def _find_parent(context: Context) -> int:
    """Find the job whose model starts another one; no chain of jobs is longer than two."""
    parent_id = find_parent_job(context)
    if parent_id and jobs_of(context.parts).jobs.find(parent_id).parent_id:
        raise Refused("This job was started by a job, and a job like that starts no others.")
    return parent_id


def _read_packet(context: Context, fields: PacketFields) -> Packet:
    packet = create_packet(fields.type, fields.data, now=context.clock(), metadata=fields.metadata)
    step_types_of(context.parts).packets.check(packet)
    return packet


def _request_act(
    context: Context, job: int, act: Literal["cancel", "pause", "resume", "retry"]
) -> JobInfo:
    find_job(context, job)
    return describe_job(context, jobs_of(context.parts).jobs.request(job, act))


def _plan_flow(context: Context, flow: str | int, packets: tuple[Packet, ...]) -> NewJob:
    definition = find_flow(context, flow)
    pipeline = definitions_of(context.parts).pipelines.find(definition.pipeline_id)
    if pipeline is None:
        raise PipelineMissing(definition.pipeline_id)
    model = context.parts.model_for(definition.agent_id, "pipeline") or ""
    return plan_flow_job(Plan(pipeline, definition, packets), model=model)


def _plan_pipeline(context: Context, reference: str | int, packets: tuple[Packet, ...]) -> NewJob:
    """Plan one run of a pipeline by itself: a flow without an id stands for its missing flow."""
    pipeline = find_pipeline(context, reference)
    if not pipeline.steps:
        raise InvalidArgument("pipeline", f"{pipeline.slug} has no steps yet")
    flow = Flow(
        id=0,
        pipeline_id=pipeline.id,
        slug=DIRECT,
        name=pipeline.name,
        agent_id=pipeline.agent_id,
        user_id=pipeline.user_id,
    )
    model = context.parts.model_for(pipeline.agent_id, "pipeline") or ""
    return plan_flow_job(Plan(pipeline, flow, packets), model=model)


def _plan_steps(
    context: Context,
    new_steps: tuple[Step, ...],
    packets: tuple[Packet, ...],
    agent: str | int | None,
) -> NewJob:
    steps = number_steps(new_steps)
    check_steps(steps, step_types_of(context.parts))
    check_step_names(context.parts.operations(), steps)
    check_step_values(context, "job", [(step, step.settings) for step in steps], is_whole=True)
    record = agent_of(context, agent)
    job = plan_direct_job(
        steps[0].title, steps, agent_id=record.id, user_id=record.owner, packets=packets
    )
    return replace(job, model=context.parts.model_for(record.id, "pipeline") or "")


def _read_statuses(text: str) -> tuple[JobStatus, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in STATUSES:
            raise InvalidArgument("status", f"{name!r} is none of {', '.join(STATUSES)}")
    return names  # type: ignore[return-value]


def _read_time(text: str) -> float:
    if not text:
        return 0.0
    try:
        return parse_time(text)
    except ValueError:
        raise InvalidArgument(
            "timestamp", f"{text!r} is no time such as 2026-04-17T09:30Z"
        ) from None
