"""Pipelines and flows in a bundle that Data Machine has written, as workflows of our types.

Its files name steps by their position and handlers by their slugs, and a schedule is one word.
Settings without an equivalent here are listed in a file of the bundle, which the agent keeps.
"""

from __future__ import annotations

from looseleaf.bundles.importers.datamachine.fields import as_list, as_object
from looseleaf.bundles.importers.datamachine.pipelines import PipelineReader, SourceSite
from looseleaf.bundles.importers.datamachine.steps import map_step_type
from looseleaf.bundles.layout.bundle import FLOWS, PIPELINES
from looseleaf.bundles.layout.bundle_json import format_json, parse_json
from looseleaf.bundles.layout.workflow_files import format_flow, format_pipeline
from looseleaf.workflows.flow import MANUAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.bundles.importers.left_out import NotImported
    from looseleaf.memory.registry import FileRegistry

NOT_TAKEN = "not-taken/workflows.json"
_SITE = "bundle"  # the name of a site in our settings that a publishing step would need
_OUR_TYPES = ("input", "memory_update", "webhook_gate", "system_task")  # ai and publish are in both


def translate_workflows(files: Mapping[str, bytes], registry: FileRegistry) -> dict[str, bytes]:
    """Return the files of a bundle with every workflow in our form; others stay as they are."""
    pipelines = {
        path: parse_json(path, content)
        for path, content in files.items()
        if path.startswith(PIPELINES) and path.endswith(".json") and b"step_id" not in content
    }
    if not pipelines:
        return dict(files)
    flows = {
        path: parse_json(path, content)
        for path, content in files.items()
        if path.startswith(FLOWS) and path.endswith(".json")
    }
    documents: dict[str, Any] = {}
    notes: list[str] = []
    for number, (path, document) in enumerate(sorted(pipelines.items()), 1):
        own_flows = {
            flow_path: flow
            for flow_path, flow in flows.items()
            if flow.get("pipeline_slug") == document.get("slug")
        }
        if not _is_foreign(document, own_flows):
            continue
        own_rows = [_describe_flow(place, flow) for place, flow in enumerate(own_flows.values(), 1)]
        left_out: list[NotImported] = []
        reader = PipelineReader(SourceSite(_SITE, registry), left_out)
        source = reader.read_pipeline(_describe_pipeline(number, document), own_rows, "", ())
        if source is None:
            continue
        documents[path] = format_pipeline(source.pipeline, document.get("slug", ""))
        for (flow_path, flow), source_flow in zip(own_flows.items(), source.flows, strict=False):
            file = format_flow(source_flow, "", source.pipeline, "")
            documents[flow_path] = _restore_names(flow, file)
        notes += _name_places(left_out, (number, path), list(own_flows))
    if notes:
        documents[NOT_TAKEN] = {"schema_version": 1, "not_taken": notes}
    return {**files, **{path: format_json(document) for path, document in documents.items()}}


def _is_foreign(pipeline: Mapping[str, Any], flows: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether Data Machine wrote a pipeline, judging by its step types or schedules."""
    types = [as_object(step).get("step_type") for step in as_list(pipeline.get("steps"))]
    if any(name not in _OUR_TYPES and map_step_type(name) not in ("", name) for name in types):
        return True
    return any(isinstance(flow.get("schedule"), str) for flow in flows.values())


def _describe_pipeline(number: int, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a pipeline as the REST interface of Data Machine gives it."""
    config: dict[str, Any] = {}
    for step in map(as_object, as_list(document.get("steps"))):
        position = step.get("step_position")
        settings = step.get("step_config")
        if not step.get("step_type") and isinstance(settings, list):
            # Data Machine exports the memory files of a pipeline as a step without a type.
            config["memory_files"] = settings
            continue
        config[f"step-{position}"] = {
            **as_object(settings),
            "step_type": step.get("step_type"),
            "execution_order": position,
        }
    if isinstance(document.get("memory_files"), list):
        config["memory_files"] = document["memory_files"]
    name = document.get("name")
    return {"pipeline_id": number, "pipeline_name": name, "pipeline_config": config}


def _describe_flow(flow_id: int, document: Mapping[str, Any]) -> dict[str, Any]:
    config: dict[str, Any] = {
        f"step-{step.pop('step_position', None)}_{flow_id}": step
        for step in map(dict, map(as_object, as_list(document.get("steps"))))
    }
    if isinstance(document.get("memory_files"), list):
        config["memory_files"] = document["memory_files"]
    schedule = {"interval": document.get("schedule"), "max_items": document.get("max_items")}
    return {
        "flow_id": flow_id,
        "flow_name": document.get("name"),
        "flow_config": config,
        "scheduling_config": schedule,
    }


def _name_places(
    left_out: list[NotImported], pipeline: tuple[int, str], flow_paths: list[str]
) -> list[str]:
    """Write a sentence for each part left out, which names the file instead of an id."""
    number, path = pipeline
    places = {
        f"pipeline {number}, flow {place}": flow_path
        for place, flow_path in enumerate(flow_paths, 1)
    } | {f"pipeline {number}": path}
    sentences = []
    for note in left_out:
        place, _, subject = note.source.partition(": ")
        sentences.append(f"{places.get(place, place)}: {subject}: {note.reason}")
    return sentences


def _restore_names(flow: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """Restore the slugs, the egress policy, and the schedule, which an install pauses anyway."""
    schedule = document["schedule"]
    is_running = schedule["interval"] != MANUAL
    return {
        **document,
        "slug": flow.get("slug"),
        "pipeline_slug": flow.get("pipeline_slug"),
        "schedule": {**schedule, "enabled": is_running},
        "run_artifacts": as_object(flow.get("run_artifacts")),
    }
