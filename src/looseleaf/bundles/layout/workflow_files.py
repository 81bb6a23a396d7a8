"""Pipelines and flows as files of a bundle: without ids of a workspace, each with its own slug."""

from __future__ import annotations

from looseleaf.errors import Invalid
from looseleaf.errors.bundles import InvalidBundle
from looseleaf.errors.workflows import InvalidWorkflow
from looseleaf.values import as_dict
from looseleaf.workflows.documents import describe_schedule, read_flow, read_pipeline
from looseleaf.workflows.slug import check_slug

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.workflows.flow import Flow
    from looseleaf.workflows.pipeline import Pipeline

SCHEMA_VERSION = 1
_LEGACY = ("handler", "handler_slug", "handler_config")
_FLOW_STEP_KEYS = {"step_position", "step_id", "step_type", "handler_configs"}
_STEP_SETTINGS = ("step_config", "handler_configs")
_PIPELINE_STEP_KEYS = {"step_position", "step_id", "step_type", "label", "step_config"}


def format_pipeline(pipeline: Pipeline, slug: str) -> dict[str, Any]:
    """Return the file of a pipeline; `memory_files` is a key of its own, never a step."""
    return {
        "schema_version": SCHEMA_VERSION,
        "slug": slug,
        "name": pipeline.name,
        "system_prompt": pipeline.system_prompt,
        "memory_files": list(pipeline.memory_files),
        "tool_policy": dict(pipeline.tool_policy),
        "steps": [
            {
                "step_position": position,
                "step_id": step.id,
                "step_type": step.type,
                "label": step.label,
                "step_config": dict(step.settings),
            }
            for position, step in enumerate(pipeline.steps)
        ],
    }


def format_flow(flow: Flow, slug: str, pipeline: Pipeline, pipeline_slug: str) -> dict[str, Any]:
    """Return the file of a flow; the settings of a step stand at the position of the step."""
    return {
        "schema_version": SCHEMA_VERSION,
        "slug": slug,
        "name": flow.name,
        "pipeline_slug": pipeline_slug,
        "memory_files": list(flow.memory_files),
        "schedule": as_dict(describe_schedule(flow.schedule)),
        "max_items": {},
        "prompt_queue": [entry.prompt for entry in flow.prompt_queue],
        "queue_mode": flow.queue_mode,
        "steps": [
            {
                "step_position": position,
                "step_id": step.id,
                "handler_configs": dict(flow.step_settings[step.id]),
            }
            for position, step in enumerate(pipeline.steps)
            if step.id in flow.step_settings
        ],
        "run_artifacts": dict(flow.run_artifacts),
    }


def parse_pipeline(path: str, document: Mapping[str, Any]) -> Pipeline:
    """Read the file of a pipeline, its steps by position, or raise `InvalidBundle`."""
    fields = _check_fields(path, document)
    steps = _read_steps(path, fields.pop("steps", []), _PIPELINE_STEP_KEYS)
    fields["steps"] = [
        {
            "type": step.get("step_type", ""),
            "id": step.get("step_id", ""),
            "label": step.get("label", ""),
            "settings": step.get("step_config", {}),
        }
        for step in steps
    ]
    try:
        pipeline = read_pipeline(fields)
        check_slug(pipeline.slug, noun="pipeline")
    except InvalidWorkflow as error:
        raise InvalidBundle(path, error.why) from None
    return pipeline


def parse_flow(path: str, document: Mapping[str, Any], *, now: float = 0.0) -> Flow:
    """Read the file of a flow, or raise `InvalidBundle`; its steps name those of the pipeline."""
    fields = _check_fields(path, document)
    fields.pop("schema_version")
    max_items = fields.pop("max_items", {})
    pipeline_slug = fields.pop("pipeline_slug", "")
    if not isinstance(pipeline_slug, str) or not pipeline_slug:
        raise InvalidBundle(path, "pipeline_slug is missing")
    if max_items:
        raise InvalidBundle(path, "max_items is not empty, and this Looseleaf has no such limits")
    if isinstance(fields.get("schedule"), str):
        fields["schedule"] = {"interval": fields["schedule"]}  # as Data Machine writes it
    steps = _read_steps(path, fields.pop("steps", []), _FLOW_STEP_KEYS)
    fields["step_settings"] = {
        str(step.get("step_id", "")): step.get("handler_configs", {}) for step in steps
    }
    try:
        flow = read_flow(fields, now=now)
        check_slug(flow.slug, noun="flow")
    except InvalidWorkflow as error:
        raise InvalidBundle(path, error.why) from None
    except Invalid as error:
        raise InvalidBundle(path, str(error).rstrip(".")) from None
    return flow


def _check_fields(path: str, document: Mapping[str, Any]) -> dict[str, Any]:
    version = document.get("schema_version")
    if version != SCHEMA_VERSION or type(version) is not int:
        raise InvalidBundle(path, f"schema_version is {version!r}, not {SCHEMA_VERSION}")
    slug = path.rpartition("/")[2].removesuffix(".json")
    if document.get("slug") != slug:
        raise InvalidBundle(path, f"its slug is {document.get('slug')!r}, unlike its name")
    return dict(document)


def _check_step(path: str, step: Mapping[str, Any], keys: set[str]) -> None:
    for key in step:
        if key in _LEGACY:
            raise InvalidBundle(path, f"a step has the old key {key!r}; use handler_configs")
        if key not in keys:
            raise InvalidBundle(path, f"a step has {key!r}, which this Looseleaf cannot use")
    if type(step.get("step_position")) is not int:
        raise InvalidBundle(path, "a step has no step_position")
    if not isinstance(step.get("step_id", ""), str):
        raise InvalidBundle(path, "step_id is no text")
    for key in _STEP_SETTINGS:
        if not isinstance(step.get(key, {}), dict):
            raise InvalidBundle(path, f"{key} of a step is no object")


def _read_steps(path: str, steps: object, keys: set[str]) -> list[dict[str, Any]]:
    """Return the steps by position, each an object with known keys."""
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise InvalidBundle(path, "steps is no list of objects")
    for step in steps:
        _check_step(path, step, keys)
    positions = [step["step_position"] for step in steps]
    if len(set(positions)) < len(positions):
        raise InvalidBundle(path, "two steps have the same step_position")
    return sorted(steps, key=lambda step: int(step["step_position"]))
