"""The JSON schemas of answers: our envelope, and the shapes of the original plugin.

Each schema is built from the declared result of its operation, as `plugin_answers` builds the
answer from the result.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

from looseleaf.catalog.schemas import build_result_schema
from looseleaf.web.rest.plugin_answers import (
    FLOW_OPERATIONS,
    MESSAGES,
    PIPELINE_OPERATIONS,
    RUN_ARTIFACT_POLICY,
    RUN_ARTIFACT_TOP,
    SHAPES,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from looseleaf.catalog.operation import Operation

    Schema = dict[str, Any]
    Change = Callable[[Schema], Schema]

TEXT, NUMBER, TRUTH = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
SUCCESS: Schema = {"const": True}
_OLD_NAMES = {"filename": TEXT, "size": NUMBER, "modified": TEXT}
_SAVED = {"message": TEXT, "file_size": NUMBER, "warning?": TEXT}


def object_of(fields: Mapping[str, Any]) -> Schema:
    """Describe an object of these fields and no other; a name that ends in ? may be missing."""
    return {
        "type": "object",
        "properties": {name.rstrip("?"): shape for name, shape in fields.items()},
        "required": [name for name in fields if not name.endswith("?")],
        "additionalProperties": False,
    }


def list_of(items: Schema) -> Schema:
    """Describe an array."""
    return {"type": "array", "items": items}


def extend(fields: Mapping[str, Any], shape: Schema) -> Schema:
    """Describe an object with further fields; a field of the same name is replaced."""
    addition = object_of(fields)
    base_names = [name for name in shape["required"] if name not in addition["properties"]]
    return {
        **addition,
        "properties": {**shape["properties"], **addition["properties"]},
        "required": [*base_names, *addition["required"]],
    }


def envelope_of(data: Schema) -> Schema:
    """Describe an answer in our envelope."""
    return object_of({"success": SUCCESS, "data": data})


@cache
def build_endpoint_schema(operation: Operation) -> Schema:
    """Describe the answer of an address in the endpoint table; lists come in parts."""
    shape = build_result_schema(operation)
    change = _ENTRIES.get(operation.name)
    if shape.get("type") != "array":
        return envelope_of(change(shape) if change else shape)
    items = list_of(change(shape["items"])) if change else shape
    parts = {"total": NUMBER, "pages": NUMBER, "page": NUMBER}
    if operation.name in MESSAGES:
        parts |= {"message": TEXT}
    return object_of({"success": SUCCESS, "data": items, **parts})


@cache
def build_run_schema(operation: Operation) -> Schema:
    """Describe the answer of the abilities' run route."""
    shape = build_result_schema(operation)
    change = _FLAT.get(operation.name)
    if operation.name not in SHAPES:
        return envelope_of(shape)
    return extend({"success": SUCCESS}, change(shape) if change else shape)


@cache
def build_change_schema(operation: Operation) -> Schema:
    """Describe the answer to a change at the address of a page or a day."""
    flat = build_run_schema(operation)
    data = extend({"message": TEXT}, build_result_schema(operation))
    top = {
        name if name in flat["required"] else f"{name}?": flat["properties"][name]
        for name in SHAPES[operation.name].top
    }
    return object_of({"success": SUCCESS, **top, "data": data})


@cache
def build_page_schema(operation: Operation) -> Schema:
    """Describe the answer to a read at the address of a page or a day."""
    return envelope_of(extend({"bytes": NUMBER, **_OLD_NAMES}, build_result_schema(operation)))


def _describe_page(shape: Schema) -> Schema:
    """Describe a page with the plugin's names; `section` is there only if one was read."""
    return extend({**_OLD_NAMES, "section?": TEXT}, shape)


def _describe_file(shape: Schema) -> Schema:
    return object_of({"file": _describe_page(shape)})


def _describe_listed_page(shape: Schema) -> Schema:
    fields = {"modes": list_of(TEXT), "type": TEXT, "description": TEXT}
    page = extend({**_OLD_NAMES, **fields, "editable": TRUTH, "editable_by": TEXT}, shape)
    return {"anyOf": [page, _DAILY_SUMMARY]}


_DAILY_SUMMARY = object_of(
    {
        "filename": {"const": "daily"},
        "type": {"const": "daily_summary"},
        "month_count": NUMBER,
        "day_count": NUMBER,
        "months": {"type": "object", "additionalProperties": list_of(TEXT)},
    }
)


def _describe_agent(shape: Schema) -> Schema:
    names = {"agent_id": NUMBER, "agent_slug": TEXT, "agent_name": TEXT, "owner_id": NUMBER}
    site = {"site_url": TEXT, "site_name": TEXT, "site_scope": {"type": "null"}, "agent_dir": TEXT}
    return extend({**names, "agent_config": shape["properties"]["config"], **site}, shape)


def _describe_new_agent(shape: Schema) -> Schema:
    return extend({"message": TEXT}, _describe_agent(shape))


def _describe_files(shape: Schema) -> Schema:
    return object_of({"files": list_of(_describe_listed_page(shape["items"]))})


def _describe_injectable_files(shape: Schema) -> Schema:
    return object_of({"files": list_of(extend({"filename": TEXT}, shape["items"]))})


def _describe_search(shape: Schema) -> Schema:
    match = extend({"date?": TEXT}, shape["properties"]["matches"]["items"])
    return extend({"query": TEXT, "matches": list_of(match), "match_count": NUMBER}, shape)


def _describe_months(shape: Schema) -> Schema:
    return object_of({"months": shape})


def _describe_sections(_shape: Schema) -> Schema:
    return object_of({"file": TEXT, "sections": list_of(TEXT)})


def _describe_scaffold(shape: Schema) -> Schema:
    return object_of({"created": TRUTH, "files": shape, "filename": TEXT})


def _describe_uploads(shape: Schema) -> Schema:
    return object_of({"files": list_of(shape)})


def _describe_flow_files(shape: Schema) -> Schema:
    return object_of({"files": shape})


def _describe_run_artifacts(shape: Schema) -> Schema:
    fields = shape["properties"]
    top = {name: fields[name] for name in RUN_ARTIFACT_TOP}
    inside = {name: schema for name, schema in fields.items() if name not in RUN_ARTIFACT_POLICY}
    return object_of({**top, "artifacts": object_of(inside)})


def _describe_task_run(shape: Schema) -> Schema:
    return object_of({"task_type": TEXT, "job_id": NUMBER, "message": TEXT, "runs": shape})


_describe_save = partial(extend, _SAVED)
_UPLOADED = list_of(object_of({"filename": TEXT, "size": NUMBER}))
_FLAT: dict[str, Change] = {
    "datamachine/append-agent-file": _describe_save,
    "datamachine/clear-agent-file": _describe_save,
    "datamachine/daily-memory-delete": partial(extend, {"message": TEXT, "date": TEXT}),
    "datamachine/daily-memory-list": _describe_months,
    "datamachine/daily-memory-write": partial(extend, {**_SAVED, "date": TEXT}),
    "datamachine/delete-agent-file": partial(extend, {"message": TEXT, "filename": TEXT}),
    "datamachine/delete-agent-memory-section": _describe_save,
    "datamachine/get-agent-file": _describe_file,
    "datamachine/get-agent-memory": _describe_page,
    "datamachine/get-run-artifacts": _describe_run_artifacts,
    "datamachine/list-agent-files": _describe_files,
    "datamachine/list-agent-memory-sections": _describe_sections,
    "datamachine/list-flow-files": _describe_flow_files,
    "datamachine/list-injectable-memory-files": _describe_injectable_files,
    "datamachine/run-task": _describe_task_run,
    "datamachine/scaffold-memory-file": _describe_scaffold,
    "datamachine/search-agent-memory": _describe_search,
    "datamachine/search-daily-memory": _describe_search,
    "datamachine/update-agent-memory": _describe_save,
    "datamachine/upload-agent-file": partial(extend, {**_SAVED, "layer": TEXT, "files": _UPLOADED}),
    "datamachine/upload-flow-file": _describe_uploads,
    "datamachine/write-agent-file": partial(extend, {**_SAVED, "layer": TEXT}),
    "memory_long_term_add": _describe_save,
    "memory_long_term_delete": _describe_save,
    "memory_long_term_update": _describe_save,
    "memory_short_term_add": _describe_save,
    "memory_short_term_delete": _describe_save,
    "memory_short_term_update": _describe_save,
}
_PORTABLE = {"portable_slug": TEXT}
_PIPELINE = {"pipeline_id": NUMBER, "pipeline_name": TEXT, **_PORTABLE}
_SCHEDULE = {"interval": TEXT, "enabled": TRUTH, "cron_expression": TEXT, "timestamp": TEXT}
_SCHEDULE_CONFIG = object_of({**_SCHEDULE, "run_artifacts": {"type": "object"}})
_FLOW = {"flow_id": NUMBER, "flow_name": TEXT, **_PORTABLE, "scheduling_config": _SCHEDULE_CONFIG}

_ENTRIES: dict[str, Change] = {
    "datamachine/upload-flow-file": _describe_uploads,
    "datamachine/list-agent-files": _describe_listed_page,
    "looseleaf/configure-agent": _describe_agent,
    "looseleaf/create-agent": _describe_new_agent,
    "looseleaf/list-agents": _describe_agent,
    "looseleaf/rename-agent": _describe_agent,
    "looseleaf/set-agent-status": _describe_agent,
    "looseleaf/show-agent": _describe_agent,
    **dict.fromkeys(PIPELINE_OPERATIONS, partial(extend, _PIPELINE)),
    **dict.fromkeys(FLOW_OPERATIONS, partial(extend, _FLOW)),
}


def name_schemas(document: Any, schemas: dict[str, Any]) -> Any:  # noqa: ANN401 - any JSON
    """Replace each schema that has a title by a reference, and collect the schemas by title.

    Two different schemas of one title (a plugin may use a title of ours) stay where they are.
    """
    if isinstance(document, list):
        return [name_schemas(part, schemas) for part in document]
    if not isinstance(document, dict):
        return document
    shape = {key: name_schemas(part, schemas) for key, part in document.items()}
    title = shape.get("title")
    if not isinstance(title, str) or shape.get("type") != "object":
        return shape
    if schemas.setdefault(title, shape) != shape:
        return shape
    return {"$ref": f"#/components/schemas/{title}"}
