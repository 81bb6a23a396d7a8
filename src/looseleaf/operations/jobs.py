"""Jobs: start a flow or steps, look at runs, and cancel, pause, resume, retry or delete them."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import agent_of
from looseleaf.catalog.schemas.paging import bound_limit, bound_offset
from looseleaf.catalog.workflows.job_documents import (
    JobInfo,
    JobList,
    PacketFields,
    PacketInfo,
    describe_job,
    describe_packet,
)
from looseleaf.catalog.workflows.workflow_access import (
    find_flow,
    find_job,
    find_parent_job,
    find_pipeline,
    list_agent_ids,
)
from looseleaf.catalog.workflows.workflow_tools import check_step_names
from looseleaf.errors import InvalidArgument, Refused
from looseleaf.errors.workflows import PipelineMissing
from looseleaf.times import parse_time
from looseleaf.values import replace, value
from looseleaf.workflows.artifacts.masking import SecretMask, list_secrets
from looseleaf.workflows.definition_checks import check_steps, number_steps
from looseleaf.workflows.execution.plan import Plan, plan_direct_job, plan_flow_job
from looseleaf.workflows.job import STATUSES
from looseleaf.workflows.job_list import JobFilter
from looseleaf.workflows.packet import create_packet
from looseleaf.workflows.parts import definitions_of, jobs_of, step_types_of
from looseleaf.workflows.pipeline import Step
from looseleaf.workflows.removal import delete_jobs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from looseleaf.catalog.context import Context
    from looseleaf.workflows.job import JobStatus, NewJob
    from looseleaf.workflows.packet import Packet

MOST_PACKETS = 100


@value
class JobsDeleted:
    """How many jobs were deleted."""

    deleted: int


@operation("datamachine/execute-workflow", permission="flows", categories=("jobs",))
def execute(
    context: Context,
    *,
    flow: str | int | None = None,
    steps: tuple[Step, ...] = (),
    initial_packets: tuple[PacketFields, ...] = (),
    agent: str | int | None = None,
    label: str = "",
    timestamp: str = "",
    request: str = "",
) -> JobInfo:
    """Start a job: one run of a flow, or of steps that belong to no pipeline.

    The job runs for the user who starts it, with the rights of that user on the agent.

    Arguments:
        flow: The flow to run, by id, slug, or pipeline/slug.
        steps: Without a flow, the steps to run in order; a step without an id gets one.
        initial_packets: Packets that the first step is given, newest first.
        agent: Without a flow, the agent that the job acts as, by id or slug; else the default.
        label: The name of the job for people; else it is named after the flow or the first step.
        timestamp: The time before which the job does not begin, such as 2026-04-17T09:30Z.
        request: A key of the caller; a second call with the same key returns the same job.
    """
    packets = tuple(_read_packet(context, fields) for fields in initial_packets)
    if (flow is None) == (not steps):
        raise InvalidArgument("flow", "give a flow, or steps, and not both")
    if flow is not None:
        job = _plan_flow(context, flow, packets)
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


def _plan_steps(
    context: Context,
    new_steps: tuple[Step, ...],
    packets: tuple[Packet, ...],
    agent: str | int | None,
) -> NewJob:
    steps = number_steps(new_steps)
    check_steps(steps, step_types_of(context.parts))
    check_step_names(context.parts.operations(), steps)
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
