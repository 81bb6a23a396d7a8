"""The JSON schemas of answers: our envelope, and the shapes of the original plugin.

Each schema follows from the declared result of its operation, in the way in which
`plugin_answers` makes the answer of the result.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

from looseleaf.catalog.schemas.json_schema import result_schema
from looseleaf.web.rest.plugin_answers import (
    FLOW_OPERATIONS,
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


def record(fields: Mapping[str, Any]) -> Schema:
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
    """Describe an object that has more fields, or other ones of the same names."""
    addition = record(fields)
    base_names = [name for name in shape["required"] if name not in addition["properties"]]
    return {
        **addition,
        "properties": {**shape["properties"], **addition["properties"]},
        "required": [*base_names, *addition["required"]],
    }


def envelope(data: Schema) -> Schema:
    """Describe an answer of ours."""
    return record({"success": SUCCESS, "data": data})


@cache
def endpoint_schema(operation: Operation) -> Schema:
    """Describe what an address of the endpoint table answers: lists come in parts."""
    shape = result_schema(operation)
    change = _ENTRIES.get(operation.name)
    if shape.get("type") != "array":
        return envelope(change(shape) if change else shape)
    items = list_of(change(shape["items"])) if change else shape
    parts = {"total": NUMBER, "pages": NUMBER, "page": NUMBER}
    return record({"success": SUCCESS, "data": items, **parts})


@cache
def run_schema(operation: Operation) -> Schema:
    """Describe what the abilities' run route answers."""
    shape = result_schema(operation)
    change = _FLAT.get(operation.name)
    if operation.name not in SHAPES:
        return envelope(shape)
    return extend({"success": SUCCESS}, change(shape) if change else shape)


@cache
def change_schema(operation: Operation) -> Schema:
    """Describe what the address of a page or a day answers to a change."""
    flat = run_schema(operation)
    data = extend({"message": TEXT}, result_schema(operation))
    top = {
        name if name in flat["required"] else f"{name}?": flat["properties"][name]
        for name in SHAPES[operation.name].top
    }
    return record({"success": SUCCESS, **top, "data": data})


@cache
def page_schema(operation: Operation) -> Schema:
    """Describe what the address of a page or a day answers to a read."""
    return envelope(extend({"bytes": NUMBER, **_OLD_NAMES}, result_schema(operation)))


def _page(shape: Schema) -> Schema:
    """Describe a page in the plugin's words: without a section, no word about one."""
    return extend({**_OLD_NAMES, "section?": TEXT}, shape)


def _file(shape: Schema) -> Schema:
    return record({"file": _page(shape)})


def _list_entry(shape: Schema) -> Schema:
    fields = {"modes": list_of(TEXT), "type": TEXT, "description": TEXT}
    return extend({**_OLD_NAMES, **fields, "editable": TRUTH, "editable_by": TEXT}, shape)


def _agent_entry(shape: Schema) -> Schema:
    names = {"agent_id": NUMBER, "agent_slug": TEXT, "agent_name": TEXT, "owner_id": NUMBER}
    site = {"site_url": TEXT, "site_name": TEXT}
    return extend({**names, "agent_config": shape["properties"]["config"], **site}, shape)


def _files(shape: Schema) -> Schema:
    return record({"files": list_of(_list_entry(shape["items"]))})


def _injectable(shape: Schema) -> Schema:
    return record({"files": list_of(extend({"filename": TEXT}, shape["items"]))})


def _search(shape: Schema) -> Schema:
    match = extend({"date?": TEXT}, shape["properties"]["matches"]["items"])
    return extend({"query": TEXT, "matches": list_of(match), "match_count": NUMBER}, shape)


def _months(shape: Schema) -> Schema:
    return record({"months": shape})


def _sections(_shape: Schema) -> Schema:
    return record({"file": TEXT, "sections": list_of(TEXT)})


def _start_schema(shape: Schema) -> Schema:
    return record({"created": TRUTH, "files": shape, "filename": TEXT})


def _uploads(shape: Schema) -> Schema:
    return record({"files": list_of(shape)})


def _flow_files(shape: Schema) -> Schema:
    return record({"files": shape})


def _run_artifacts(shape: Schema) -> Schema:
    fields = shape["properties"]
    top = {name: fields[name] for name in RUN_ARTIFACT_TOP}
    inside = {name: schema for name, schema in fields.items() if name not in RUN_ARTIFACT_POLICY}
    return record({**top, "artifacts": record(inside)})


def _task_run(shape: Schema) -> Schema:
    return record({"task_type": TEXT, "message": TEXT, "runs": shape})


_saved = partial(extend, _SAVED)
_UPLOADED = list_of(record({"filename": TEXT, "size": NUMBER}))
_FLAT: dict[str, Change] = {
    "datamachine/append-agent-file": _saved,
    "datamachine/clear-agent-file": _saved,
    "datamachine/daily-memory-delete": partial(extend, {"message": TEXT, "date": TEXT}),
    "datamachine/daily-memory-list": _months,
    "datamachine/daily-memory-write": partial(extend, {**_SAVED, "date": TEXT}),
    "datamachine/delete-agent-file": partial(extend, {"message": TEXT, "filename": TEXT}),
    "datamachine/delete-agent-memory-section": _saved,
    "datamachine/get-agent-file": _file,
    "datamachine/get-agent-memory": _page,
    "datamachine/get-run-artifacts": _run_artifacts,
    "datamachine/list-agent-files": _files,
    "datamachine/list-agent-memory-sections": _sections,
    "datamachine/list-flow-files": _flow_files,
    "datamachine/list-injectable-memory-files": _injectable,
    "datamachine/run-task": _task_run,
    "datamachine/scaffold-memory-file": _start_schema,
    "datamachine/search-agent-memory": _search,
    "datamachine/search-daily-memory": _search,
    "datamachine/update-agent-memory": _saved,
    "datamachine/upload-agent-file": partial(extend, {**_SAVED, "layer": TEXT, "files": _UPLOADED}),
    "datamachine/upload-flow-file": _uploads,
    "datamachine/write-agent-file": partial(extend, {**_SAVED, "layer": TEXT}),
    "memory_long_term_add": _saved,
    "memory_long_term_delete": _saved,
    "memory_long_term_update": _saved,
    "memory_short_term_add": _saved,
    "memory_short_term_delete": _saved,
    "memory_short_term_update": _saved,
}
_PORTABLE = {"portable_slug": TEXT}
_PIPELINE = {"pipeline_id": NUMBER, "pipeline_name": TEXT, **_PORTABLE}
_SCHEDULE = {"interval": TEXT, "enabled": TRUTH, "cron_expression": TEXT, "timestamp": TEXT}
_SCHEDULE_CONFIG = record({**_SCHEDULE, "run_artifacts": {"type": "object"}})
_FLOW = {"flow_id": NUMBER, "flow_name": TEXT, **_PORTABLE, "scheduling_config": _SCHEDULE_CONFIG}

_ENTRIES: dict[str, Change] = {
    "datamachine/upload-flow-file": _uploads,
    "datamachine/list-agent-files": _list_entry,
    "looseleaf/configure-agent": _agent_entry,
    "looseleaf/create-agent": _agent_entry,
    "looseleaf/list-agents": _agent_entry,
    "looseleaf/rename-agent": _agent_entry,
    "looseleaf/set-agent-status": _agent_entry,
    "looseleaf/show-agent": _agent_entry,
    **dict.fromkeys(PIPELINE_OPERATIONS, partial(extend, _PIPELINE)),
    **dict.fromkeys(FLOW_OPERATIONS, partial(extend, _FLOW)),
}


def name_schemas(document: Any, schemas: dict[str, Any]) -> Any:  # noqa: ANN401 - any JSON
    """Replace each schema that has a title by a reference, and collect the schemas by title.

    Two different schemas of one title (a plugin may call its value as we do) stay where they are.
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
