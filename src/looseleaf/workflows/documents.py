"""Pipelines and flows as documents of operations, and as one file for export and import."""

from __future__ import annotations

from looseleaf.errors.workflows import InvalidWorkflow
from looseleaf.times import format_time, parse_time
from looseleaf.values import FrozenDict, replace, value
from looseleaf.workflows.flow import CRON, MANUAL, ONE_TIME, Flow, QueuedPrompt, Schedule
from looseleaf.workflows.pipeline import Pipeline, Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TypeVar

    Kind = TypeVar("Kind")

SCHEMA_VERSION = 1
MOST_FLOWS = 500  # in one file


@value
class StepFields:
    """The fields of a step in a request or a file.

    Fields:
        type: The type of step, such as input, ai or memory_update.
        id: The id of a step that is there already; without it, a new step.
        label: The name for people; without it, the type in words.
        settings: The settings of the step, as its type describes them.
    """

    type: str = ""
    id: str = ""
    label: str = ""
    settings: Mapping[str, Any] = FrozenDict()


@value
class ScheduleFields:
    """When a flow runs.

    Fields:
        interval: The key of an interval, such as every_5_minutes, hourly, daily or weekly; or
            manual, one_time, cron.
        cron: With the interval cron: minute, hour, day, month and weekday, such as 0 6 * * *.
        at: With the interval one_time: a UTC time such as 2026-04-17T09:30:00Z.
        enabled: Whether the schedule counts; false pauses the flow.
    """

    interval: str = MANUAL
    cron: str = ""
    at: str = ""
    enabled: bool = True


@value
class PipelineDocument:
    """A pipeline as operations give it; `hash` is its version for compare-and-swap."""

    id: int
    slug: str
    name: str
    agent_id: int
    agent: str
    user_id: int
    system_prompt: str
    memory_files: tuple[str, ...]
    tool_policy: Mapping[str, Any]
    steps: tuple[Step, ...]
    flows: int
    created: str
    updated: str
    hash: str


@value
class FlowDocument:
    """A flow as operations give it; `hash` is its version for compare-and-swap."""

    id: int
    pipeline_id: int
    pipeline: str
    slug: str
    name: str
    agent_id: int
    agent: str
    user_id: int
    memory_files: tuple[str, ...]
    step_settings: Mapping[str, Any]
    prompt_queue: tuple[str, ...]
    queue_mode: str
    schedule: ScheduleFields
    run_artifacts: Mapping[str, Any]
    created: str
    updated: str
    hash: str


@value
class FlowFile:
    """A flow in an exported file, with the prompts that wait in its queue."""

    slug: str
    name: str
    memory_files: tuple[str, ...] = ()
    step_settings: Mapping[str, Any] = FrozenDict()
    prompt_queue: tuple[str, ...] = ()
    queue_mode: str = "static"
    schedule: ScheduleFields = ScheduleFields()
    run_artifacts: Mapping[str, Any] = FrozenDict()


@value
class PipelineFile:
    """A pipeline with its flows as one JSON document, without ids of this workspace."""

    schema_version: int
    slug: str
    name: str
    system_prompt: str = ""
    memory_files: tuple[str, ...] = ()
    tool_policy: Mapping[str, Any] = FrozenDict()
    steps: tuple[StepFields, ...] = ()
    flows: tuple[FlowFile, ...] = ()


def describe_pipeline(pipeline: Pipeline, agent: str, flows: int) -> PipelineDocument:
    """Describe a pipeline, with the slug of its agent and the number of its flows."""
    return PipelineDocument(
        pipeline.id,
        pipeline.slug,
        pipeline.name,
        pipeline.agent_id,
        agent,
        pipeline.user_id,
        pipeline.system_prompt,
        pipeline.memory_files,
        pipeline.tool_policy,
        pipeline.steps,
        flows,
        format_time(pipeline.created),
        format_time(pipeline.updated),
        pipeline.version,
    )


def describe_flow(flow: Flow, agent: str, pipeline: str) -> FlowDocument:
    """Describe a flow, with the slugs of its agent and its pipeline."""
    return FlowDocument(
        flow.id,
        flow.pipeline_id,
        pipeline,
        flow.slug,
        flow.name,
        flow.agent_id,
        agent,
        flow.user_id,
        flow.memory_files,
        flow.step_settings,
        tuple(entry.prompt for entry in flow.prompt_queue),
        flow.queue_mode,
        describe_schedule(flow.schedule),
        flow.run_artifacts,
        format_time(flow.created),
        format_time(flow.updated),
        flow.version,
    )


def describe_schedule(schedule: Schedule) -> ScheduleFields:
    """Describe a schedule, its time as text."""
    at = format_time(schedule.at) if schedule.at else ""
    return ScheduleFields(schedule.interval, schedule.cron, at, schedule.enabled)


def read_schedule(schedule: ScheduleFields | str) -> Schedule:
    """Check a schedule, by its fields or as a short text."""
    from looseleaf.workflows.schedules.timing import read_timing

    fields = parse_schedule(schedule) if isinstance(schedule, str) else schedule
    timing = read_timing(fields.interval or MANUAL, cron=fields.cron, at=fields.at)
    return Schedule(timing.interval, timing.cron, timing.at, fields.enabled)


def parse_schedule(text: str) -> ScheduleFields:
    """Read a short text: an interval such as daily or 6h, a cron expression, a UTC time, manual."""
    plan = text.strip()
    try:
        parse_time(plan)
    except ValueError:
        is_cron = len(plan.split()) > 1
        return ScheduleFields(CRON, plan) if is_cron else ScheduleFields(plan or MANUAL)
    return ScheduleFields(ONE_TIME, at=plan)


def read_steps(steps: Iterable[StepFields]) -> tuple[Step, ...]:
    """Build steps from their fields; steps without an id are new."""
    return tuple(Step(step.id, step.type, step.label, dict(step.settings)) for step in steps)


def queue_prompts(
    prompts: Iterable[str], now: float, previous: tuple[QueuedPrompt, ...] = ()
) -> tuple[QueuedPrompt, ...]:
    """Build a queue; a prompt that waited before keeps the time at which it was added."""
    present_entries = {entry.prompt: entry for entry in reversed(previous)}
    return tuple(present_entries.get(prompt) or QueuedPrompt(prompt, now) for prompt in prompts)


def export_pipeline(pipeline: Pipeline, flows: Iterable[Flow]) -> PipelineFile:
    """Build the file of a pipeline and its flows."""
    return PipelineFile(
        SCHEMA_VERSION,
        pipeline.slug,
        pipeline.name,
        pipeline.system_prompt,
        pipeline.memory_files,
        pipeline.tool_policy,
        tuple(StepFields(step.type, step.id, step.label, step.settings) for step in pipeline.steps),
        tuple(
            FlowFile(
                flow.slug,
                flow.name,
                flow.memory_files,
                flow.step_settings,
                tuple(entry.prompt for entry in flow.prompt_queue),
                flow.queue_mode,
                describe_schedule(flow.schedule),
                flow.run_artifacts,
            )
            for flow in flows
        ),
    )


def read_pipeline_file(document: Mapping[str, Any]) -> PipelineFile:
    """Read an exported file, or raise `InvalidWorkflow` with the field that is wrong."""
    version = document.get("schema_version")
    if version != SCHEMA_VERSION:
        reason = f"schema_version is {version!r}, and this Looseleaf reads {SCHEMA_VERSION}"
        raise InvalidWorkflow("pipeline", reason)
    file = read_record(PipelineFile, document, "pipeline")
    if len(file.flows) > MOST_FLOWS:
        raise InvalidWorkflow("pipeline", f"the file has more than {MOST_FLOWS} flows")
    steps = tuple(read_record(StepFields, step, "step") for step in file.steps)
    flows = []
    for fields in file.flows:
        flow = read_record(FlowFile, fields, "flow")
        schedule = read_record(ScheduleFields, flow.schedule, "schedule")
        flows.append(replace(flow, schedule=schedule))
    return replace(file, steps=steps, flows=tuple(flows))


_KINDS: dict[str, type | tuple[type, ...]] = {
    "memory_files": (list, tuple),
    "prompt_queue": (list, tuple),
    "steps": (list, tuple),
    "flows": (list, tuple),
    "settings": dict,
    "tool_policy": dict,
    "step_settings": dict,
    "run_artifacts": dict,
    "schedule": dict,
    "enabled": bool,
    "schema_version": int,
}
_TEXTS = ("memory_files", "prompt_queue")


def read_record(kind: type[Kind], fields: object, noun: str) -> Kind:
    """Build a value from JSON; unknown, missing and mistyped fields are refused by name."""
    if isinstance(fields, kind):
        return fields
    field_names: tuple[str, ...] = kind.__match_args__  # type: ignore[attr-defined]
    if not isinstance(fields, dict):
        raise InvalidWorkflow(noun, f"it is an object with {', '.join(field_names)}")
    arguments: dict[str, Any] = {}
    for name, field in fields.items():
        if name not in field_names:
            raise InvalidWorkflow(
                noun, f"it has no {name!r}; its fields are {', '.join(field_names)}"
            )
        if not isinstance(field, _KINDS.get(name, str)):
            raise InvalidWorkflow(noun, f"{name} cannot be a {type(field).__name__}")
        arguments[name] = tuple(field) if isinstance(field, list) else field
        if name in _TEXTS and not all(isinstance(text, str) for text in arguments[name]):
            raise InvalidWorkflow(noun, f"{name} is a list of texts")
    try:
        return kind(**arguments)
    except TypeError as error:
        raise InvalidWorkflow(noun, str(error)) from None
