"""Transcripts and tool traces of a job: bounded, without secrets, in canonical JSON."""

from __future__ import annotations

import hashlib
import json

from looseleaf.workflows.sources.item import cut_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from looseleaf.models.model import Message
    from looseleaf.workflows.artifacts.masking import SecretMask
    from looseleaf.workflows.step_parts import ToolExecution

MOST_MESSAGES = 200
MOST_ENTRIES = 200
LONGEST_TEXT = 4_000


def build_transcript(messages: Sequence[Message], mask: SecretMask) -> dict[str, Any]:
    """Return the messages of a turn as plain JSON; the newest stay if there are too many."""
    entries = [_describe_message(message) for message in messages[-MOST_MESSAGES:]]
    return _build_document("messages", entries, len(messages), mask)


def build_tool_trace(tools: Sequence[ToolExecution], mask: SecretMask) -> dict[str, Any]:
    """Return the calls of tools as plain JSON; the first ones stay if there are too many."""
    entries = [
        {
            "tool_name": tool.name,
            "success": tool.success,
            "arguments": _cut(dict(tool.arguments)),
            "summary": cut_text(tool.summary, LONGEST_TEXT),
        }
        for tool in tools[:MOST_ENTRIES]
    ]
    return _build_document("entries", entries, len(tools), mask)


def format_json(document: Any) -> bytes:  # noqa: ANN401 - any JSON
    """Write canonical JSON: sorted keys, indented, with a line end."""
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, indent=2)
    return f"{text}\n".encode("utf-8", "backslashreplace")


def _build_document(name: str, entries: list[Any], total: int, mask: SecretMask) -> dict[str, Any]:
    payload = mask.mask(entries)
    return {
        name: payload,
        "total": total,
        "bounded": True,
        "redacted": True,
        "sha256": hashlib.sha256(format_json(payload)).hexdigest(),
    }


def _describe_message(message: Message) -> dict[str, Any]:
    entry: dict[str, Any] = {"role": message.role, "content": cut_text(message.text, LONGEST_TEXT)}
    if message.calls:
        entry["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": _read_arguments(call.arguments)}
            for call in message.calls
        ]
    if message.role == "tool":
        entry |= {"tool_name": message.name, "call_id": message.call, "success": not message.failed}
    return entry


def _read_arguments(text: str) -> Any:  # noqa: ANN401 - any JSON
    """Parse arguments, so that secrets in them are found by their keys."""
    try:
        return _cut(json.loads(text))
    except (ValueError, RecursionError):
        return cut_text(text, LONGEST_TEXT)


def _cut(document: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(document, str):
        return cut_text(document, LONGEST_TEXT)
    if isinstance(document, dict):
        return {name: _cut(entry) for name, entry in list(document.items())[:MOST_ENTRIES]}
    if isinstance(document, list):
        return [_cut(entry) for entry in document[:MOST_ENTRIES]]
    return document
