"""Answers in the shape of the original WordPress plugin, for programs that were written for it.

One table lists the fields of the original for each operation. At the abilities' run route these
fields stand beside `success`; at the plugin's own REST routes `top` names the fields beside `data`.
Further fields of Looseleaf have names of their own.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from looseleaf.errors import Forbidden, Invalid, InvalidDate, LooseleafError, NotFound
from looseleaf.errors.pages import (
    AgentExists,
    DailyMemoryOff,
    NotEditable,
    PageMissing,
    Protected,
    SectionMissing,
)
from looseleaf.memory.day import day_of
from looseleaf.memory.pages import MAIN
from looseleaf.values import FrozenDict, value
from looseleaf.web.rest.representation import can_edit, with_old_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from looseleaf.catalog.context import Context

    Document = dict[str, Any]


# Operations that give a pipeline, or a flow.
PIPELINE_OPERATIONS = (
    "looseleaf/list-pipelines",
    *(f"looseleaf/{verb}-pipeline" for verb in ("copy", "create", "import", "show", "update")),
)
FLOW_OPERATIONS = (
    "looseleaf/list-flows",
    "looseleaf/queue-prompt",
    *(f"looseleaf/{verb}-flow" for verb in ("copy", "create", "show", "update")),
)

# Fields beside the artifacts of a run; the id of the job is also inside the artifacts.
RUN_ARTIFACT_POLICY = ("schema_version", "run_artifact_egress_policy", "policy_provenance")
RUN_ARTIFACT_TOP = (*RUN_ARTIFACT_POLICY, "job_id")


@value
class Call:
    """One call of an operation: its arguments, and its result as JSON."""

    context: Context
    arguments: Mapping[str, Any]
    result: Any
    months: Mapping[str, list[str]] = FrozenDict()  # the journal, beside a list of pages

    def argument(self, name: str, synonym: str = "", default: str = "") -> str:
        """Return an argument by its name here or in the original plugin."""
        return str(self.arguments.get(name) or self.arguments.get(synonym) or default)

    @property
    def file(self) -> str:
        """The page of the call."""
        return self.argument("file", "filename", MAIN)


@value
class Shape:
    """The shape of the original plugin's answer to a call; answer_schemas.py describes it."""

    build: Callable[[Call], Document]
    top: tuple[str, ...] = ()  # fields beside `data`, at a REST route of the plugin


def build_flat_answer(name: str, call: Call) -> Document | None:
    """Build the answer of the abilities' run route, or None for an operation of our own."""
    shape = SHAPES.get(name)
    return {"success": True, **shape.build(call)} if shape else None


def build_route_answer(name: str, call: Call) -> Document:
    """Build the response of a REST route of the plugin: `top` beside `data`, which has all."""
    shape = SHAPES[name]
    flat = {"success": True, **shape.build(call)}
    data = dict(call.result)
    if "message" in flat:
        data["message"] = flat["message"]
    return {**{key: flat[key] for key in ("success", *shape.top) if key in flat}, "data": data}


def build_page_entry(context: Context, entry: Document) -> Document:
    """Return one page of a list with the fields of the original's list."""
    file = context.pages.registry.get(entry["file"])
    requirement = entry["editable"] if isinstance(entry["editable"], str) else ""
    modes = list(file.modes) if file is not None and entry["registered"] else []
    description = file.description if file is not None else ""
    plugin_fields = {"modes": modes, "type": "core", "description": description}
    return {
        **with_old_names(entry),
        **plugin_fields,
        "editable": bool(entry["editable"]) and can_edit(context.principal, requirement),
        "editable_by": requirement,
    }


def build_daily_summary(months: Mapping[str, list[str]]) -> list[Document]:
    """Return the entry that the original's list has for the journal, if it has any day."""
    summary = {
        "filename": "daily",
        "type": "daily_summary",
        "month_count": len(months),
        "day_count": sum(map(len, months.values())),
        "months": dict(months),
    }
    return [summary] if months else []


def build_agent_entry(context: Context, entry: Document) -> Document:
    """Return an agent with the field names of the original."""
    return {
        **entry,
        "agent_id": entry["id"],
        "agent_slug": entry["slug"],
        "agent_name": entry["name"],
        "owner_id": entry["owner"],
        "agent_config": entry["config"],
        "site_url": context.settings.url,
        "site_name": context.settings.name,
        "site_scope": None,
        "agent_dir": f"agents/{entry['slug']}",
    }


def build_new_agent_entry(context: Context, entry: Document) -> Document:
    """Return a new agent with the field names of the original, and its message."""
    message = f"The agent {entry['slug']} was created (id {entry['id']})."
    return {**build_agent_entry(context, entry), "message": message}


def build_pipeline_entry(_context: Context, entry: Document) -> Document:
    """Return a pipeline with the field names of the original."""
    names = {"pipeline_id": entry["id"], "pipeline_name": entry["name"]}
    return {**entry, **names, "portable_slug": entry["slug"]}


def build_flow_entry(_context: Context, entry: Document) -> Document:
    """Return a flow with the field names of the original."""
    schedule = entry["schedule"]
    config = {
        "interval": schedule["interval"],
        "enabled": schedule["enabled"],
        "cron_expression": schedule["cron"],
        "timestamp": schedule["at"],
        "run_artifacts": entry["run_artifacts"],
    }
    names = {"flow_id": entry["id"], "flow_name": entry["name"], "portable_slug": entry["slug"]}
    return {**entry, **names, "scheduling_config": config}


# Additions of the routes of the endpoint table to each object of a response.
ENTRIES: dict[str, Callable[[Context, Document], Document]] = {
    "datamachine/list-agent-files": build_page_entry,
    "looseleaf/configure-agent": build_agent_entry,
    "looseleaf/create-agent": build_new_agent_entry,
    "looseleaf/list-agents": build_agent_entry,
    "looseleaf/rename-agent": build_agent_entry,
    "looseleaf/set-agent-status": build_agent_entry,
    "looseleaf/show-agent": build_agent_entry,
    **dict.fromkeys(PIPELINE_OPERATIONS, build_pipeline_entry),
    **dict.fromkeys(FLOW_OPERATIONS, build_flow_entry),
}


# The message that an answer of the original has beside `data`, where ours is a list.
MESSAGES = {"looseleaf/set-settings": "The settings were saved."}


def _build_page(call: Call) -> Document:
    fields = {name: field for name, field in call.result.items() if field is not None}
    return with_old_names(fields)


def _build_file(call: Call) -> Document:
    return {"file": {**_build_page(call), "filename": call.result["file"]}}


def _build_save_fields(call: Call, message: str) -> Document:
    result = call.result
    warnings = result.get("warnings") or []
    warning = {"warning": " ".join(warnings)} if warnings else {}
    if not result["changed"]:
        message = f"{result['filename']} says so already; nothing was changed."
    return {**result, "message": message, "file_size": result["bytes"], **warning}


def _build_section_update(call: Call) -> Document:
    section = call.argument("section")
    appends = call.arguments.get("mode") == "append"
    return _build_save_fields(
        call,
        f'Content appended to section "{section}".' if appends else f'Section "{section}" updated.',
    )


def _build_page_write(call: Call) -> Document:
    layer = call.argument("layer") or call.context.pages.registry.layer_of(call.file)
    return {**_build_save_fields(call, f"{call.file} saved."), "layer": layer}


def _build_page_upload(call: Call) -> Document:
    files = [{"filename": call.result["filename"], "size": call.result["bytes"]}]
    return {**_build_page_write(call), "files": files}


def _build_page_change(call: Call) -> Document:
    return _build_save_fields(call, f"{call.result['filename']} saved.")


def _build_page_deletion(call: Call) -> Document:
    return {**call.result, "filename": call.file, "message": f"File {call.file} deleted."}


def _build_search(call: Call) -> Document:
    results = call.result
    return {
        **results,
        "query": call.argument("query"),
        "matches": [_add_date(match) for match in results["matches"]],
        "match_count": results["total"],
    }


def _add_date(match: Document) -> Document:
    day = day_of(match["filename"])
    return match if day is None else {**match, "date": str(day)}


def _build_sections(call: Call) -> Document:
    return {"file": call.file, "sections": [section["name"] for section in call.result]}


def _build_injectable_files(call: Call) -> Document:
    return {"files": [{**page, "filename": page["file"]} for page in call.result if page["exists"]]}


def _build_files(call: Call) -> Document:
    pages = [build_page_entry(call.context, page) for page in call.result]
    return {"files": [*pages, *build_daily_summary(call.months)]}


def _build_scaffold(call: Call) -> Document:
    return {"created": bool(call.result), "files": call.result, "filename": call.argument("file")}


def _build_day(call: Call) -> Document:
    day = call.result
    if not day["exists"]:
        raise PageMissing(day["file"], "the daily journal")
    return dict(day)


def _build_day_write(call: Call) -> Document:
    date = _date_of(call.result["filename"])
    appends = call.arguments.get("mode", "append") == "append"
    message = f"Content appended to daily memory for {date}." if appends else f"{date} saved."
    return {**_build_save_fields(call, message), "date": date}


def _build_day_deletion(call: Call) -> Document:
    date = call.argument("date")
    return {**call.result, "date": date, "message": f"Daily memory for {date} deleted."}


def _date_of(filename: str) -> str:
    return str(day_of(filename) or "")


def _build_months(call: Call) -> Document:
    return {"months": call.result}


def _build_flow_upload(call: Call) -> Document:
    return {"files": [call.result]}


def _build_flow_files(call: Call) -> Document:
    return {"files": call.result}


def _build_run_artifacts(call: Call) -> Document:
    top = {name: call.result[name] for name in RUN_ARTIFACT_TOP}
    inside = {name: field for name, field in call.result.items() if name not in RUN_ARTIFACT_POLICY}
    return {**top, "artifacts": inside}


def _build_task_run(call: Call) -> Document:
    """Name the first job as the original does, and list one run for each agent.

    Where no worker runs, the runs have ended and there is no job: its number is 0.
    """
    task, runs = call.argument("task_type"), call.result
    job_id = runs[0]["job_id"] if runs else 0
    times = f"{len(runs)} time{'' if len(runs) == 1 else 's'}"
    message = f"Task {task} was {'started' if job_id else 'run'} {times}."
    return {"task_type": task, "job_id": job_id, "message": message, "runs": runs}


def _copy_result(call: Call) -> Document:
    return dict(call.result)


SHAPES: dict[str, Shape] = {
    "datamachine/append-agent-file": Shape(_build_page_change),
    "datamachine/clear-agent-file": Shape(_build_page_change),
    "datamachine/daily-memory-delete": Shape(_build_day_deletion, ("date", "message")),
    "datamachine/daily-memory-list": Shape(_build_months),
    "datamachine/daily-memory-read": Shape(_build_day),
    "datamachine/daily-memory-write": Shape(_build_day_write, ("date", "message", "warning")),
    "datamachine/delete-agent-file": Shape(_build_page_deletion),
    "datamachine/delete-agent-memory-section": Shape(_build_page_change),
    "datamachine/delete-chat-session": Shape(_copy_result),
    "datamachine/delete-flow-file": Shape(_copy_result),
    "datamachine/execute-workflow": Shape(_copy_result),
    "datamachine/generate-session-title": Shape(_copy_result),
    "datamachine/get-agent-file": Shape(_build_file),
    "datamachine/get-agent-memory": Shape(_build_page),
    "datamachine/get-chat-session": Shape(_copy_result),
    "datamachine/get-job": Shape(_copy_result),
    "datamachine/get-jobs": Shape(_copy_result),
    "datamachine/get-run-artifacts": Shape(_build_run_artifacts),
    "datamachine/hydrate-job-artifact": Shape(_copy_result),
    "datamachine/list-agent-files": Shape(_build_files),
    "datamachine/list-agent-memory-sections": Shape(_build_sections),
    "datamachine/list-chat-sessions": Shape(_copy_result),
    "datamachine/list-flow-files": Shape(_build_flow_files),
    "datamachine/list-injectable-memory-files": Shape(_build_injectable_files),
    "datamachine/mark-session-read": Shape(_copy_result),
    "datamachine/run-task": Shape(_build_task_run),
    "datamachine/scaffold-memory-file": Shape(_build_scaffold),
    "datamachine/search-agent-memory": Shape(_build_search),
    "datamachine/search-daily-memory": Shape(_build_search),
    "datamachine/send-message": Shape(_copy_result),
    "datamachine/update-agent-memory": Shape(_build_section_update),
    "datamachine/upload-agent-file": Shape(_build_page_upload),
    "datamachine/upload-flow-file": Shape(_build_flow_upload),
    "datamachine/write-agent-file": Shape(_build_page_write, ("filename", "layer", "warning")),
    "memory_long_term_read": Shape(_copy_result),
    "memory_short_term_read": Shape(_copy_result),
    **{
        f"memory_{term}_term_{verb}": Shape(_build_page_change)
        for term in ("long", "short")
        for verb in ("add", "delete", "update")
    },
}


# Error fields of the original WordPress plugin, besides the message.
# The codes of our errors are our own and stable; `data.ability_error_code` holds the code of
# the plugin's ability, and the other fields of `data` have the names of the plugin.


_INVALID = "ability_invalid_input"
_FORBIDDEN = "ability_invalid_permissions"
# By operation and kind of error; the first match counts.
CODES: dict[str, tuple[tuple[type[LooseleafError], str], ...]] = {
    "datamachine/daily-memory-delete": (
        (DailyMemoryOff, "daily_memory_disabled"),
        (NotFound, "daily_memory_delete_failed"),
    ),
    "datamachine/daily-memory-read": ((NotFound, "daily_memory_read_failed"),),
    "datamachine/daily-memory-write": ((DailyMemoryOff, "daily_memory_disabled"),),
    "datamachine/delete-agent-file": (
        (Protected, "agent_file_protected"),
        (NotFound, "agent_file_not_found"),
    ),
    "datamachine/get-agent-file": ((NotFound, "agent_file_not_found"),),
    "datamachine/get-agent-memory": ((NotFound, "agent_memory_read_failed"),),
    "datamachine/list-agent-memory-sections": ((NotFound, "agent_memory_list_sections_failed"),),
    "datamachine/search-agent-memory": ((NotFound, "agent_memory_search_failed"),),
    "datamachine/update-agent-memory": ((NotEditable, "memory_file_read_only"),),
    "datamachine/write-agent-file": (
        (NotEditable, "agent_file_read_only"),
        (Forbidden, "agent_file_forbidden"),
    ),
    "looseleaf/create-agent": ((AgentExists, "agent_slug_conflict"),),
}
_COMMON_CODES: tuple[tuple[type[LooseleafError], str], ...] = (
    (Invalid, _INVALID),
    (Forbidden, _FORBIDDEN),
)
_ARGUMENT_FIELDS = {
    "file": "filename",
    "filename": "filename",
    "date": "date",
    "agent_slug": "agent_slug",
}


@contextmanager
def add_error_fields(operation: str, arguments: Mapping[str, Any]) -> Iterator[None]:
    """Add the fields that the original plugin gives in `data` to the errors of a call."""
    try:
        yield
    except LooseleafError as error:
        for name, field in build_error_fields(operation, arguments, error).items():
            # The response of an error has all attributes of the error as `data`.
            error.__dict__.setdefault(name, field)
        raise


def build_error_fields(
    operation: str, arguments: Mapping[str, Any], error: LooseleafError
) -> dict[str, object]:
    """Return the fields of `data` that the original has for an error of an operation."""
    fields: dict[str, object] = {
        field: arguments[name]
        for name, field in _ARGUMENT_FIELDS.items()
        if isinstance(arguments.get(name), str)
    }
    if "filename" in fields:
        fields["file"] = fields["filename"]
    if isinstance(error, NotFound):
        fields |= {"success": False, "message": str(error)}
    if isinstance(error, SectionMissing):
        fields["available_sections"] = error.available
    if isinstance(error, InvalidDate):
        fields["params"] = {"date": str(error)}
    codes = (*CODES.get(operation, ()), *_COMMON_CODES)
    code = next((code for kind, code in codes if isinstance(error, kind)), None)
    return {**fields, "ability_error_code": code} if code else fields
