"""Pipelines and flows as documents of operations, and as one file for export and import."""

from __future__ import annotations

from operator import itemgetter

from looseleaf.errors.features import InvalidWorkflow
from looseleaf.features.workflows.definitions import (
    CRON,
    FLOW,
    MANUAL,
    ONE_TIME,
    PIPELINE,
    Flow,
    Pipeline,
    QueuedPrompt,
    Schedule,
    Step,
    number_steps,
)
from looseleaf.schema_check import find_problem
from looseleaf.times import format_time, parse_time
from looseleaf.values import as_dict, replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TypedDict

    from looseleaf.features.workflows.step import StepTypes
else:
    TypedDict = dict

SCHEMA_VERSION = 1
MOST_FLOWS = 500  # in one file
# Fields of a definition that belong to its workspace, and are in no file.
_WORKSPACE_FIELDS = ("id", "pipeline_id", "agent_id", "user_id", "created", "updated")


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


@value(kw_only=True)
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


@value(kw_only=True)
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


class StepFile(TypedDict):
    """A step in an exported file."""

    type: str
    id: str
    label: str
    settings: Mapping[str, Any]


class FlowFile(TypedDict):
    """A flow in an exported file, with the prompts that wait in its queue."""

    slug: str
    name: str
    memory_files: tuple[str, ...]
    step_settings: Mapping[str, Any]
    prompt_queue: tuple[str, ...]
    queue_mode: str
    schedule: ScheduleFields
    run_artifacts: Mapping[str, Any]


class PipelineFile(TypedDict):
    """A pipeline with its flows as one JSON document, without ids of this workspace."""

    schema_version: int
    slug: str
    name: str
    system_prompt: str
    memory_files: tuple[str, ...]
    tool_policy: Mapping[str, Any]
    steps: tuple[StepFile, ...]
    flows: tuple[FlowFile, ...]


def describe_pipeline(
    pipeline: Pipeline, agent: str, flows: int, types: StepTypes
) -> PipelineDocument:
    """Describe a pipeline, with the slug of its agent and the number of its flows."""
    shown = hide_step_secrets(pipeline, types)
    fields: dict[str, Any] = as_dict(shown) | _describe_times(pipeline)
    return PipelineDocument(**fields, agent=agent, flows=flows, hash=pipeline.version)


def describe_flow(
    flow: Flow, agent: str, pipeline: Pipeline | None, types: StepTypes
) -> FlowDocument:
    """Describe a flow, with the slugs of its agent and its pipeline."""
    shown = hide_flow_secrets(flow, pipeline, types)
    fields = _describe_fields(shown) | _describe_times(flow)
    slug = pipeline.slug if pipeline is not None else ""
    return FlowDocument(**fields, agent=agent, pipeline=slug, hash=flow.version)


# Secrets of steps: no document has them, and a document that comes back leaves them as they are.


def hide_step_secrets(pipeline: Pipeline, types: StepTypes) -> Pipeline:
    """Return a pipeline with a mask in place of each secret of its steps."""
    steps = tuple(
        replace(step, settings=types.hide_secrets(step.type, step.settings))
        for step in pipeline.steps
    )
    return replace(pipeline, steps=steps)


def hide_flow_secrets(flow: Flow, pipeline: Pipeline | None, types: StepTypes) -> Flow:
    """Return a flow with a mask in place of each secret of its settings."""
    step_types = {step.id: step.type for step in pipeline.steps} if pipeline is not None else {}
    settings = {
        step_id: types.hide_secrets(step_types.get(step_id, ""), own)
        for step_id, own in flow.step_settings.items()
    }
    return replace(flow, step_settings=settings)


def restore_step_secrets(
    steps: Iterable[Step], stored: Iterable[Step], types: StepTypes
) -> tuple[Step, ...]:
    """Return steps with the secrets of the stored steps of the same ids and types."""
    known = {(step.id, step.type): step.settings for step in stored}
    return tuple(
        replace(
            step,
            settings=types.restore_secrets(
                step.type, step.settings, known.get((step.id, step.type), {})
            ),
        )
        for step in steps
    )


def restore_flow_secrets(
    settings: Mapping[str, Any], flow: Flow, pipeline: Pipeline, types: StepTypes
) -> dict[str, Any]:
    """Return new settings of a flow with the secrets that it has stored."""
    step_types = {step.id: step.type for step in pipeline.steps}
    return {
        step_id: types.restore_secrets(
            step_types.get(step_id, ""), own, flow.step_settings.get(step_id, {})
        )
        for step_id, own in settings.items()
    }


def _describe_fields(flow: Flow) -> dict[str, Any]:
    prompts = tuple(entry.prompt for entry in flow.prompt_queue)
    parts = {"prompt_queue": prompts, "schedule": describe_schedule(flow.schedule)}
    return as_dict(flow) | parts


def _describe_times(definition: Pipeline | Flow) -> dict[str, Any]:
    created, updated = definition.created, definition.updated
    return {"created": format_time(created), "updated": format_time(updated)}


def describe_schedule(schedule: Schedule) -> ScheduleFields:
    """Describe a schedule, its time as text."""
    at = format_time(schedule.at) if schedule.at else ""
    return ScheduleFields(schedule.interval, schedule.cron, at, schedule.enabled)


def read_schedule(schedule: ScheduleFields | str) -> Schedule:
    """Check a schedule, by its fields or as a short text."""
    from looseleaf.features.workflows.schedules import read_timing

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


def queue_prompts(
    prompts: Iterable[str], now: float, previous: tuple[QueuedPrompt, ...] = ()
) -> tuple[QueuedPrompt, ...]:
    """Build a queue; a prompt that waited before keeps the time at which it was added."""
    present_entries = {entry.prompt: entry for entry in reversed(previous)}
    return tuple(present_entries.get(prompt) or QueuedPrompt(prompt, now) for prompt in prompts)


def export_pipeline(pipeline: Pipeline, flows: Iterable[Flow], types: StepTypes) -> PipelineFile:
    """Build the file of a pipeline and its flows, without the secrets of steps."""
    flows = [hide_flow_secrets(flow, pipeline, types) for flow in flows]
    pipeline = hide_step_secrets(pipeline, types)
    file: Any = {
        "schema_version": SCHEMA_VERSION,
        **_leave_workspace(as_dict(pipeline)),
        "steps": [
            {name: getattr(step, name) for name in StepFile.__annotations__}
            for step in pipeline.steps
        ],
        "flows": [_leave_workspace(_describe_fields(flow)) for flow in flows],
    }
    return file  # type: ignore[no-any-return]  # as declared, since it has their fields


def _leave_workspace(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: field for name, field in fields.items() if name not in _WORKSPACE_FIELDS}


def read_pipeline_file(
    document: Mapping[str, Any], *, now: float
) -> tuple[Pipeline, tuple[Flow, ...]]:
    """Read an exported file as definitions that are not stored yet, or raise `InvalidWorkflow`."""
    version = document.get("schema_version")
    if version != SCHEMA_VERSION:
        reason = f"schema_version is {version!r}, and this Looseleaf reads {SCHEMA_VERSION}"
        raise InvalidWorkflow(PIPELINE, reason)
    fields = dict(document)
    flows = fields.pop("flows", [])
    if not isinstance(flows, list):
        raise InvalidWorkflow(PIPELINE, "flows must be array")
    if len(flows) > MOST_FLOWS:
        raise InvalidWorkflow(PIPELINE, f"the file has more than {MOST_FLOWS} flows")
    return read_pipeline(fields), tuple(read_flow(flow, now=now) for flow in flows)


def read_pipeline(fields: Mapping[str, Any]) -> Pipeline:
    """Read the fields of a pipeline in a file, or raise `InvalidWorkflow` with the wrong one."""
    _check_fields(fields, PipelineFile, PIPELINE, required=("slug", "name"))
    known_fields = {name: field for name, field in fields.items() if name != "schema_version"}
    known_fields["memory_files"] = tuple(fields.get("memory_files", ()))
    known_fields["steps"] = number_steps(read_steps(fields.get("steps", ())))
    return Pipeline(id=0, agent_id=0, user_id=0, **known_fields)


def read_steps(steps: Iterable[Any]) -> tuple[Step, ...]:
    """Read the steps of a file, or raise `InvalidWorkflow`; a step without an id is new."""
    rows = tuple(steps)
    for number, step in enumerate(rows):
        _check_fields(step, StepFile, PIPELINE, path=f"steps[{number}]")
    return tuple(Step(**step) for step in rows)


def read_flow(fields: Any, *, now: float) -> Flow:  # noqa: ANN401 - any JSON
    """Read the fields of a flow in a file, or raise `InvalidWorkflow` with the wrong one.

    The prompts of its queue are added `now`.
    """
    _check_fields(fields, FlowFile, FLOW, required=("slug", "name"))
    parts = {
        "memory_files": tuple(fields.get("memory_files", ())),
        "prompt_queue": queue_prompts(fields.get("prompt_queue", ()), now),
        "schedule": read_schedule_fields(fields.get("schedule", {})),
    }
    return Flow(id=0, pipeline_id=0, agent_id=0, user_id=0, **{**fields, **parts})


def read_schedule_fields(fields: Any) -> Schedule:  # noqa: ANN401 - any JSON
    """Read the fields of a schedule in a file, or raise `InvalidWorkflow`."""
    _check_fields(fields, ScheduleFields, "schedule")
    return read_schedule(ScheduleFields(**fields))


# Steps as the original plugin writes them: the type by its own name, the place as a number. Its
# handlers belong to flows, so that a step gets here the settings that do nothing outside.


PLUGIN_STEP_TYPES = {
    "fetch": "input",
    "ai": "ai",
    "publish": "publish",
    "upsert": "publish",
    "webhook_gate": "webhook_gate",
    "system_task": "system_task",
}
PLUGIN_STEP_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "input": {"source": "text"},
    "publish": {"target": "file"},
}
_PLUGIN_TYPE, _PLUGIN_PLACE = "step_type", "execution_order"


def translate_plugin_steps(steps: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a list of steps with those of the original plugin as ours; the check judges it."""
    if not isinstance(steps, list):
        return steps
    places = [step.get(_PLUGIN_PLACE) if isinstance(step, dict) else None for step in steps]
    if all(type(place) is int for place in places):
        steps = [step for _, step in sorted(zip(places, steps, strict=True), key=itemgetter(0))]
    return [_translate_plugin_step(step) for step in steps]


def _translate_plugin_step(step: Any) -> Any:  # noqa: ANN401 - any JSON
    if not isinstance(step, dict) or _PLUGIN_TYPE not in step or "type" in step:
        return step
    step_type = step[_PLUGIN_TYPE]
    if isinstance(step_type, str):
        step_type = PLUGIN_STEP_TYPES.get(step_type, step_type)
    names = {_PLUGIN_TYPE, _PLUGIN_PLACE}
    fields = {name: field for name, field in step.items() if name not in names}
    is_known = isinstance(step_type, str) and step_type in PLUGIN_STEP_SETTINGS
    settings = {"settings": dict(PLUGIN_STEP_SETTINGS[step_type])} if is_known else {}
    return {"type": step_type, **settings, **fields}


_TEXT_LIST = {"type": "array", "items": {"type": "string"}}
_FIELD_SCHEMAS: dict[str, dict[str, Any]] = {  # by the annotation of a field
    "Mapping[str, Any]": {"type": "object"},
    "ScheduleFields": {"type": "object"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "str": {"type": "string"},
    "tuple[StepFile, ...]": {"type": "array"},
    "tuple[str, ...]": _TEXT_LIST,
}


def _check_fields(
    fields: object, kind: type, noun: str, *, path: str = "", required: tuple[str, ...] = ()
) -> None:
    """Raise `InvalidWorkflow` if JSON has unknown, missing or mistyped fields of a class."""
    schema = {
        "type": "object",
        "properties": {
            name: _FIELD_SCHEMAS[annotation]
            for name, annotation in kind.__annotations__.items()
            if annotation in _FIELD_SCHEMAS
        },
        "required": required,
        "additionalProperties": False,
    }
    problem = find_problem(schema, fields, path)
    if problem is not None:
        raise InvalidWorkflow(noun, problem)
