"""Answers in the shape of the original WordPress plugin, for programs that were written for it.

One table says of each operation which fields the original gives. At the abilities' run route they
stand flat beside `success`; at the plugin's own REST routes `top` names those that stand beside
`data`. Everything that Looseleaf knows more stands beside them under names of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from looseleaf.agents.access import CAPABILITIES
from looseleaf.errors import PageMissing
from looseleaf.operations.memory import MAIN
from looseleaf.values import value
from looseleaf.web.representation import with_old_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from looseleaf.operations.context import Context

    Document = dict[str, Any]

_DAILY = "daily/"


@value
class Call:
    """One call of an operation: its arguments, and its result as JSON."""

    context: Context
    given: Mapping[str, Any]
    result: Any

    def argument(self, name: str, synonym: str = "", default: str = "") -> str:
        """Give an argument by its name here or in the original plugin."""
        return str(self.given.get(name) or self.given.get(synonym) or default)

    @property
    def file(self) -> str:
        """The page that the call is about."""
        return self.argument("file", "filename", MAIN)


@value
class Shape:
    """How the original plugin answers a call: its fields with their JSON types, and the answer."""

    fields: Mapping[str, str]  # a name that ends in ? may be missing
    build: Callable[[Call], Document]
    top: tuple[str, ...] = ()  # at a REST route of its own: what stands beside `data`

    @property
    def schema(self) -> Document:
        """The JSON schema of the answer."""
        properties: Document = {"success": {"type": "boolean"}}
        properties |= {name.rstrip("?"): {"type": kind} for name, kind in self.fields.items()}
        needed = [name for name in self.fields if not name.endswith("?")]
        return {"type": "object", "properties": properties, "required": ["success", *needed]}


def flat_answer(name: str, call: Call) -> Document | None:
    """Build the answer of the abilities' run route; None for an operation of our own."""
    shape = SHAPES.get(name)
    return {"success": True, **shape.build(call)} if shape else None


def route_answer(name: str, call: Call) -> Document:
    """Build the answer of a REST route of the plugin: its fields beside `data`, which has all."""
    shape = SHAPES[name]
    flat = {"success": True, **shape.build(call)}
    known = dict(call.result)
    if "message" in flat:
        known["message"] = flat["message"]
    return {**{key: flat[key] for key in ("success", *shape.top) if key in flat}, "data": known}


def list_entry(context: Context, entry: Document) -> Document:
    """Give one page of a list with the fields of the original's list."""
    file = context.pages.registry.get(entry["file"])
    editable = entry["editable"]
    may_edit = context.principal.can(editable) if editable in CAPABILITIES else bool(editable)
    modes = list(file.modes) if file is not None and entry["registered"] else []
    described = file.description if file is not None else ""
    more = {"modes": modes, "type": "core", "description": described}
    return {**with_old_names(entry), **more, "editable": may_edit, "editable_by": str(editable)}


def agent_entry(context: Context, entry: Document) -> Document:
    """Give an agent with the names that the original has for its fields."""
    return {
        **entry,
        "agent_id": entry["id"],
        "agent_slug": entry["slug"],
        "agent_name": entry["name"],
        "owner_id": entry["owner"],
        "agent_config": entry["config"],
        "site_url": context.settings.url,
        "site_name": context.settings.name,
    }


# What the routes of the endpoint table add to each object that they give.
ENTRIES: dict[str, Callable[[Context, Document], Document]] = {
    "datamachine/list-agent-files": list_entry,
    "looseleaf/configure-agent": agent_entry,
    "looseleaf/create-agent": agent_entry,
    "looseleaf/list-agents": agent_entry,
    "looseleaf/rename-agent": agent_entry,
    "looseleaf/set-agent-status": agent_entry,
    "looseleaf/show-agent": agent_entry,
}


def _page(call: Call) -> Document:
    found = {name: one for name, one in call.result.items() if one is not None}
    return with_old_names(found)


def _file(call: Call) -> Document:
    return {"file": {**_page(call), "filename": call.result["file"]}}


def _saved(call: Call, message: str) -> Document:
    saved = call.result
    warnings = saved.get("warnings") or []
    warning = {"warning": " ".join(warnings)} if warnings else {}
    return {**saved, "message": message, "file_size": saved["bytes"], **warning}


def _updated(call: Call) -> Document:
    section = call.argument("section")
    appends = call.given.get("mode") == "append"
    return _saved(
        call,
        f'Content appended to section "{section}".' if appends else f'Section "{section}" updated.',
    )


def _written(call: Call) -> Document:
    layer = call.argument("layer") or call.context.pages.registry.layer_of(call.file)
    return {**_saved(call, f"{call.file} saved."), "layer": layer}


def _uploaded(call: Call) -> Document:
    files = [{"filename": call.result["filename"], "size": call.result["bytes"]}]
    return {**_written(call), "files": files}


def _changed(call: Call) -> Document:
    return _saved(call, f"{call.result['filename']} saved.")


def _deleted(call: Call) -> Document:
    return {**call.result, "filename": call.file, "message": f"File {call.file} deleted."}


def _search(call: Call) -> Document:
    found = call.result
    return {
        **found,
        "query": call.argument("query"),
        "matches": [_match(one) for one in found["matches"]],
        "match_count": found["total"],
    }


def _match(match: Document) -> Document:
    file = match["filename"]
    if not file.startswith(_DAILY):
        return match
    return {**match, "date": file[len(_DAILY) :].removesuffix(".md").replace("/", "-")}


def _sections(call: Call) -> Document:
    return {"file": call.file, "sections": [one["name"] for one in call.result]}


def _injectable(call: Call) -> Document:
    return {"files": [{**one, "filename": one["file"]} for one in call.result if one["exists"]]}


def _files(call: Call) -> Document:
    return {"files": [list_entry(call.context, one) for one in call.result]}


def _started(call: Call) -> Document:
    return {"created": bool(call.result), "files": call.result, "filename": call.argument("file")}


def _day(call: Call) -> Document:
    day = call.result
    if not day["exists"]:
        raise PageMissing(day["file"], "the daily journal")
    return dict(day)


def _day_written(call: Call) -> Document:
    date = _date(call.result["filename"])
    appends = call.given.get("mode", "append") == "append"
    done = f"Content appended to daily memory for {date}." if appends else f"{date} saved."
    return {**_saved(call, done), "date": date}


def _day_deleted(call: Call) -> Document:
    date = call.argument("date")
    return {**call.result, "date": date, "message": f"Daily memory for {date} deleted."}


def _date(filename: str) -> str:
    return filename[len(_DAILY) :].removesuffix(".md").replace("/", "-")


def _months(call: Call) -> Document:
    return {"months": call.result}


def _whole(call: Call) -> Document:
    return dict(call.result)


_SAVED = {"message": "string", "file_size": "integer", "warning?": "string"}
_TERM = {"filename": "string", "content": "string", "exists": "boolean"}
_FOUND = {"query": "string", "matches": "array", "match_count": "integer"}
_FILES = {"files": "array"}

SHAPES: dict[str, Shape] = {
    "datamachine/append-agent-file": Shape({**_SAVED, "filename": "string"}, _changed),
    "datamachine/clear-agent-file": Shape({**_SAVED, "filename": "string"}, _changed),
    "datamachine/daily-memory-delete": Shape(
        {"message": "string", "date": "string"}, _day_deleted, ("date", "message")
    ),
    "datamachine/daily-memory-list": Shape({"months": "object"}, _months),
    "datamachine/daily-memory-read": Shape({"date": "string", "content": "string"}, _day),
    "datamachine/daily-memory-write": Shape(
        {**_SAVED, "date": "string"}, _day_written, ("date", "message", "warning")
    ),
    "datamachine/delete-agent-file": Shape({"message": "string", "filename": "string"}, _deleted),
    "datamachine/delete-agent-memory-section": Shape(_SAVED, _changed),
    "datamachine/delete-chat-session": Shape({}, _whole),
    "datamachine/generate-session-title": Shape({}, _whole),
    "datamachine/get-agent-file": Shape({"file": "object"}, _file),
    "datamachine/get-agent-memory": Shape(
        {"content": "string", "file": "string", "section?": "string"}, _page
    ),
    "datamachine/get-chat-session": Shape({}, _whole),
    "datamachine/list-agent-files": Shape(_FILES, _files),
    "datamachine/list-agent-memory-sections": Shape(
        {"file": "string", "sections": "array"}, _sections
    ),
    "datamachine/list-chat-sessions": Shape({"sessions": "array"}, _whole),
    "datamachine/list-injectable-memory-files": Shape(_FILES, _injectable),
    "datamachine/mark-session-read": Shape({}, _whole),
    "datamachine/scaffold-memory-file": Shape({"created": "boolean", **_FILES}, _started),
    "datamachine/search-agent-memory": Shape(_FOUND, _search),
    "datamachine/search-daily-memory": Shape(_FOUND, _search),
    "datamachine/send-message": Shape({}, _whole),
    "datamachine/update-agent-memory": Shape(_SAVED, _updated),
    "datamachine/upload-agent-file": Shape(_FILES, _uploaded),
    "datamachine/write-agent-file": Shape(
        {"filename": "string", "layer": "string", "warning?": "string"},
        _written,
        ("filename", "layer", "warning"),
    ),
    "memory_long_term_add": Shape(_SAVED, _changed),
    "memory_long_term_delete": Shape(_SAVED, _changed),
    "memory_long_term_read": Shape({**_TERM, "content_length": "integer"}, _whole),
    "memory_long_term_update": Shape(_SAVED, _changed),
    "memory_short_term_add": Shape(_SAVED, _changed),
    "memory_short_term_delete": Shape(_SAVED, _changed),
    "memory_short_term_read": Shape(
        {**_TERM, "content_length": "integer", "daily_timestamp": "integer"}, _whole
    ),
    "memory_short_term_update": Shape(_SAVED, _changed),
}
