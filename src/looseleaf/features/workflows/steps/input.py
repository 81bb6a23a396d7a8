"""The step `input`: source material from a text, the flow's files, a feed, JSON or a packet."""

from __future__ import annotations

import hashlib

from looseleaf.allow_list import OutgoingRequest
from looseleaf.errors.features import InvalidStep, RequestFailed
from looseleaf.features.workflows.packet import create_packet
from looseleaf.features.workflows.sources import create_item, parse_feed, parse_json_items
from looseleaf.features.workflows.step import StepOutcome, StepType
from looseleaf.features.workflows.steps.texts import (
    CALL,
    find_material,
    format_text,
    read_body,
)
from looseleaf.values import FrozenDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from looseleaf.features.workflows.sources import SourceItem
    from looseleaf.features.workflows.step import StepRun
    from looseleaf.settings import Settings

MOST_FILE_BYTES = 1_000_000
_MOST_ITEMS = 50
_PASSING = (408, 425, 429)  # statuses of failures that pass by themselves
_ACCEPT = {
    "feed": "application/atom+xml, application/rss+xml, application/xml;q=0.9, */*;q=0.5",
    "json": "application/json",
}


def run_input(run: StepRun) -> StepOutcome:
    """Return the new items of a source as packets, newest first."""
    source = run.settings["source"]
    items = _READERS[source](run)
    if source != "packet" and run.settings.get("skip_processed", source != "text"):
        items = _claim_new(run, items)
    items = items[: run.settings.get("max_items", 10)]
    if not items:
        return StepOutcome(status="no_items", reason="The source has no new items.")
    run.report_progress(f"{len(items)} items")
    metadata = {"source": source, **({"url": run.settings["url"]} if "url" in run.settings else {})}
    now = run.parts.clock()
    return StepOutcome(
        packets=tuple(
            create_packet("item", item.to_data(), now=now, metadata=metadata) for item in items
        )
    )


def _claim_new(run: StepRun, items: tuple[SourceItem, ...]) -> tuple[SourceItem, ...]:
    """Claim the items that no job of this step of the flow has taken before, once each.

    A run without a flow, such as one that tries a pipeline, takes nothing from any other run.
    """
    if not run.flow.id:
        return items
    by_key = {item.key: item for item in items}
    new_keys = run.parts.processed_items.claim(
        run.flow.id,
        run.step.id,
        tuple(by_key),
        job_id=run.job.id,
        limit=run.settings.get("max_items", 10),
    )
    return tuple(by_key[key] for key in new_keys)


def _read_text(run: StepRun) -> tuple[SourceItem, ...]:
    text = run.settings.get("text", "")
    if not text.strip():
        raise InvalidStep(run.step.id, "text is missing; it is what the step gives")
    return (create_item(title=run.settings.get("title", ""), content=text),)


def _read_files(run: StepRun) -> tuple[SourceItem, ...]:
    """Read the files that were uploaded for the flow; a file with a new content is a new item."""
    files = run.parts.files
    names = run.settings.get("files") or files.flow_files(run.pipeline.id, run.flow.id)
    items = []
    for name in names:
        content = files.read_flow_file(run.pipeline.id, run.flow.id, name)
        digest = hashlib.sha256(content).hexdigest()
        text = _decode(name, content)
        items.append(create_item(identity=f"file:{name}:{digest}", title=name, content=text))
    return tuple(items)


def _decode(name: str, content: bytes) -> str:
    if len(content) <= MOST_FILE_BYTES:
        try:
            return content.decode()
        except UnicodeDecodeError:
            pass
    return f"[{name}: {len(content)} bytes, not given as text]"


def _read_feed(run: StepRun) -> tuple[SourceItem, ...]:
    return parse_feed(_fetch(run))


def _read_json(run: StepRun) -> tuple[SourceItem, ...]:
    path, fields = run.settings.get("items_path", ""), run.settings.get("fields", {})
    return parse_json_items(_fetch(run), path=path, fields=fields)


def _read_packet(run: StepRun) -> tuple[SourceItem, ...]:
    """Return the newest packet of the job as an item, such as the data that started the job.

    A call that opened a gate stands beside the text that it approves.
    """
    if not run.packets:
        return ()
    packet = run.packets[0]
    if packet.type == CALL:
        packet = find_material(run.packets) or packet
    data = (packet.type == CALL and read_body(packet)) or packet.data
    texts = {name: data[name] for name in ("title", "url") if isinstance(data.get(name), str)}
    content = data.get("content", data)
    return (create_item(identity=run.effect_key, content=format_text(content), **texts),)


def _fetch(run: StepRun) -> bytes:
    """Query the server of the source; raise `RequestFailed` on a failure that may be transient."""
    url = run.settings.get("url", "")
    if not url:
        raise InvalidStep(run.step.id, "url is missing; it is the address of the source")
    run.report_progress("asks the source")
    accept = FrozenDict({"accept": _ACCEPT[run.settings["source"]]})
    response = run.parts.requests.send(OutgoingRequest(url, headers=accept))
    if response.status == 200:
        return response.body
    reason = f"it answered with status {response.status}"
    if response.status in _PASSING or response.status >= 500:
        raise RequestFailed("of the source", reason)
    raise InvalidStep(run.step.id, f"the server of the source cannot be used: {reason}")


_READERS: Mapping[str, Callable[[StepRun], tuple[SourceItem, ...]]] = {
    "text": _read_text,
    "files": _read_files,
    "feed": _read_feed,
    "json": _read_json,
    "packet": _read_packet,
}

_FIELD_NAMES = {
    "id": "id",
    "title": "title",
    "content": "text",
    "url": "address",
    "published": "time",
}


def find_fault(settings: Mapping[str, Any], _workspace: Settings, *, is_whole: bool) -> str:
    """Return why the settings of the step cannot work, or ""."""
    if is_whole and settings.get("source") in _ACCEPT and not settings.get("url"):
        return "url is missing; it is the address of the source"
    return ""


INPUT = StepType(
    name="input",
    label="Input",
    description=(
        "Bring in source material: a text, the flow's files, a feed, a JSON document or a packet."
    ),
    run=run_input,
    find_fault=find_fault,
    gives=("item",),
    settings={
        "type": "object",
        "required": ["source"],
        "additionalProperties": False,
        "properties": {
            "source": {
                "type": "string",
                "enum": list(_READERS),
                "title": "Source",
                "description": (
                    "Where the material comes from: a text, the flow's files, a feed (RSS, Atom), "
                    "a JSON document, or the packet that the job was started with."
                ),
            },
            "text": {
                "type": "string",
                "maxLength": 100_000,
                "title": "Text",
                "description": "The material itself.",
                "x-when": {"source": ["text"]},
            },
            "title": {
                "type": "string",
                "maxLength": 2_000,
                "format": "line",
                "title": "Title of the text",
                "description": "What templates get as {{title}}.",
                "x-when": {"source": ["text"]},
            },
            "files": {
                "type": "array",
                "maxItems": 100,
                "items": {"type": "string", "maxLength": 200, "format": "flow-file"},
                "title": "Files",
                "description": "Names of the flow's files; without it, all of them.",
                "x-when": {"source": ["files"]},
            },
            "url": {
                "type": "string",
                "maxLength": 2_000,
                "format": "uri",
                "title": "Address",
                "description": "The address of the source, on a host that the operator allows.",
                "x-when": {"source": ["feed", "json"]},
            },
            "items_path": {
                "type": "string",
                "maxLength": 200,
                "title": "Path to the list",
                "description": "The path to the list in a JSON document, such as data.posts.",
                "x-when": {"source": ["json"]},
            },
            "fields": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    name: {
                        "type": "string",
                        "maxLength": 200,
                        "title": f"Path to the {words} of an entry",
                        "description": f"If it is not {name}, or a usual other name of it.",
                    }
                    for name, words in _FIELD_NAMES.items()
                },
                "description": "Paths to the fields of an entry, if they have unusual names.",
                "x-when": {"source": ["json"]},
            },
            "max_items": {
                "type": "integer",
                "minimum": 1,
                "maximum": _MOST_ITEMS,
                "default": 10,
                "title": "Most items",
                "description": "The most items of one job.",
                "x-when": {"source": ["files", "feed", "json"]},
            },
            "skip_processed": {
                "type": "boolean",
                "title": "Skip items taken before",
                "description": (
                    "Whether items that a job of the flow has taken before are left out; "
                    "yes by default, except for a text."
                ),
                "x-when": {"source": ["text", "files", "feed", "json"]},
            },
        },
    },
)
