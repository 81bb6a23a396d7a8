"""Jobs as surfaces show them: a run, its steps, its writes and its packets."""

from __future__ import annotations

from looseleaf.catalog.page_checks import Finding
from looseleaf.features.workflows.access import find_agent_slug
from looseleaf.features.workflows.parts import jobs_of
from looseleaf.times import format_time
from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.page_checks import CheckRun
    from looseleaf.features.workflows.artifacts import SecretMask
    from looseleaf.features.workflows.jobs.job import Job, MemoryWrite, StepRecord
    from looseleaf.features.workflows.packet import Packet


@value
class WriteInfo:
    """A page that a step changed.

    Fields:
        file: The page.
        layer: The layer of the page.
        agent: The slug of its agent; "" in other layers.
        user: The id of its user; 0 in other layers.
        revision: The number of the revision that the change made.
        operation: The act, such as append.
    """

    file: str
    layer: str
    agent: str
    user: int
    revision: int
    operation: str


@value(kw_only=True)
class StepInfo:
    """One step of a job.

    Fields:
        id: The id of the step in its pipeline.
        type: The type of the step.
        label: The name for people.
        status: pending, processing, completed, no_items, waiting, skipped or failed.
        reason: Why it failed, waits or was skipped.
        started_at: When it first began; "" before.
        ended_at: When it ended; "" before.
        seconds: The time from its first attempt to its end; 0 before the end.
        attempts: How often it was begun.
        interruptions: How often the process that ran it died.
        progress: What it reported last.
        input_tokens: The tokens that models read in it.
        output_tokens: The tokens that models wrote in it.
        packets: The number of packets it gave.
        writes: The pages it changed.
        artifacts: References of artifacts it left.
    """

    id: str
    type: str
    label: str
    status: str
    reason: str
    started_at: str
    ended_at: str
    seconds: float
    attempts: int
    interruptions: int
    progress: str
    input_tokens: int
    output_tokens: int
    packets: int
    writes: tuple[WriteInfo, ...]
    artifacts: tuple[str, ...]


@value(kw_only=True)
class JobInfo:
    """One durable run.

    Fields:
        job_id: The number of the job.
        label: The name for people.
        status: pending, processing, waiting, paused, completed, completed_no_items,
            agent_skipped, failed or cancelled.
        reason: Why it failed, waits, was skipped or is tried again.
        source: What started it: pipeline, system, direct or chat.
        pipeline_id: The pipeline; 0 for a direct job.
        flow_id: The flow; 0 for a direct job.
        agent: The slug of the agent it acts as, or "" if none.
        task_type: The system task of a direct job.
        created_at: When it was asked for.
        started_at: When its first step began; "" before.
        completed_at: When it ended; "" before.
        seconds: The time from the first step to the end.
        next_attempt_at: The time of the next attempt, or of the end of waiting, or "" if neither.
        attempts: The number of transient failures so far.
        model: The model that counts for the limit of jobs per model.
        input_tokens: The tokens that models read.
        output_tokens: The tokens that models wrote.
        steps: The steps in their order; none in a list.
        writes: The pages that the steps changed.
    """

    job_id: int
    label: str
    status: str
    reason: str
    source: str
    pipeline_id: int
    flow_id: int
    agent: str
    task_type: str
    created_at: str
    started_at: str
    completed_at: str
    seconds: float
    next_attempt_at: str
    attempts: int
    model: str
    input_tokens: int
    output_tokens: int
    steps: tuple[StepInfo, ...] = ()
    writes: tuple[WriteInfo, ...] = ()


@value
class JobList:
    """Some jobs, newest first, and how many there are in all."""

    jobs: tuple[JobInfo, ...]
    total: int
    limit: int
    offset: int


@value
class PacketFields:
    """A packet as it is given.

    Fields:
        type: The type of the packet, such as item.
        data: The content, as the schema of the type describes it.
        metadata: Facts about the content.
    """

    type: str = ""
    data: Mapping[str, Any] = FrozenDict()
    metadata: Mapping[str, Any] = FrozenDict()


@value
class PacketInfo:
    """One packet of a step.

    Fields:
        step: The id of the step that gave it.
        type: The type of the packet.
        timestamp: When it was made.
        data: The content.
        metadata: Facts about the content.
    """

    step: str
    type: str
    timestamp: str
    data: Mapping[str, Any] = FrozenDict()
    metadata: Mapping[str, Any] = FrozenDict()


def describe_job(context: Context, job: Job) -> JobInfo:
    """Describe a job for people and programs."""
    return JobInfo(
        job_id=job.id,
        label=job.label,
        status=job.status,
        reason=job.reason,
        source=job.source,
        pipeline_id=job.pipeline_id,
        flow_id=job.flow_id,
        agent=find_agent_slug(context, job.agent_id) if job.agent_id else "",
        task_type=job.task_type,
        created_at=format_time(job.created_at),
        started_at=_format(job.started_at),
        completed_at=_format(job.completed_at),
        seconds=round(job.seconds, 3),
        next_attempt_at="" if job.is_final else _format(job.not_before),
        attempts=job.attempts,
        model=job.model,
        input_tokens=job.usage.input_tokens,
        output_tokens=job.usage.output_tokens,
        steps=tuple(_describe_step(context, step) for step in job.steps),
        writes=tuple(_describe_write(context, write) for write in job.writes),
    )


def _describe_step(context: Context, step: StepRecord) -> StepInfo:
    return StepInfo(
        id=step.id,
        type=step.type,
        label=step.label,
        status=step.status,
        reason=step.reason,
        started_at=_format(step.started_at),
        ended_at=_format(step.ended_at),
        seconds=round(step.seconds, 3),
        attempts=step.attempts,
        interruptions=step.interruptions,
        progress=step.progress,
        input_tokens=step.usage.input_tokens,
        output_tokens=step.usage.output_tokens,
        packets=step.packets,
        writes=tuple(_describe_write(context, write) for write in step.writes),
        artifacts=step.artifacts,
    )


def _describe_write(context: Context, write: MemoryWrite) -> WriteInfo:
    agent = find_agent_slug(context, write.agent_id) if write.agent_id else ""
    return WriteInfo(
        write.filename, write.layer, agent, write.user_id, write.revision, write.operation
    )


def describe_packet(step: str, packet: Packet, mask: SecretMask) -> PacketInfo:
    """Describe a packet of a step, without secrets."""
    data, metadata = mask.mask(packet.data), mask.mask(packet.metadata)
    return PacketInfo(step, packet.type, packet.timestamp, data, metadata)


def _format(seconds: float) -> str:
    return format_time(seconds) if seconds else ""


def check_jobs(run: CheckRun) -> Iterator[Finding]:
    """Check that no step of a job ends the processes that run it."""
    parts = run.context.parts
    if not parts.has_accounts():
        return
    for job in jobs_of(parts).jobs.list_dangerous():
        step = max(job.steps, key=lambda step: step.interruptions)
        detail = (
            f"job {job.id} ({job.label}) is {job.status}: its step {step.label or step.type} "
            f"({step.type}) ended the process that ran it {step.interruptions} times"
        )
        advice = (
            f"Correct the step, or what it is given; then: looseleaf jobs retry {job.id}, or "
            f"looseleaf jobs {'delete' if job.is_final else 'cancel'} {job.id}"
        )
        yield Finding("jobs", "warning", detail, advice)
