"""The result of a tool: structured content and text, or an error with the next step."""

from __future__ import annotations

import json
import sys

from looseleaf.catalog.tools.outputs import wrap_result
from looseleaf.errors import Invalid, LooseleafError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from looseleaf.catalog.operation import Operation

MOST_ITEMS = 10_000
# The next step for a model, for errors whose message is meant for people at a command line.
_HINTS = {
    "agent_ambiguous": "Give the argument agent.",
    "agent_missing": "list_agents lists those you may use.",
    "assembled_text": "Store only what is new.",
    "conflict": "Read the page again, then repeat the change with its new hash.",
    "daily_memory_disabled": "Only your operator can; tell them, or use append_agent_memory.",
    "forbidden": "Ask your operator.",
    "locked": "Try again in a moment.",
    "page_missing": "list_agent_files lists the pages there are.",
    "section_missing": "append_agent_memory adds a section.",
    "tool_denied": "Ask your operator.",
}


def answer(operation: Operation, work: Callable[[], Any]) -> dict[str, Any]:
    """Return the result of an operation, or its error, as the result of a tool."""
    try:
        result = check_size(work())
        return build_success(result, wrap_result(operation, result))
    except LooseleafError as error:
        return build_failure(error.code, str(error), _HINTS.get(error.code, ""))
    except Exception:  # noqa: BLE001 - a fault of ours ends one call, not the server
        report_fault()
        return build_failure(
            "internal_error", "Something went wrong in the server.", "Tell your operator."
        )


def check_size(result: Any) -> Any:  # noqa: ANN401 - any JSON
    """Check the size of a result; a list that is too long for a model is an error."""
    if isinstance(result, list) and len(result) > MOST_ITEMS:
        raise Invalid(
            f"The result has {len(result)} items, more than {MOST_ITEMS}. Narrow the request."
        )
    return result


def report_fault() -> None:
    """Write the current error to standard error only: it may name files of this machine."""
    import traceback

    sys.stderr.write(traceback.format_exc())


def build_success(result: Any, data: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """Return a result twice: as data by its schema, and as text for the model."""
    return {"content": _build_text_parts(result), "isError": False, "structuredContent": data}


def build_failure(code: str, message: str, hint: str = "") -> dict[str, Any]:
    """Return an error with its stable code; the model reads it and can correct the call."""
    content = {"code": code, "message": message, **({"hint": hint} if hint else {})}
    text = f"{code}: {message}" + (f" {hint}" if hint else "")
    return {"content": [build_text_part(text)], "isError": True, "structuredContent": content}


def build_text_part(text: str) -> dict[str, Any]:
    """Return a text as a part of a result or of a message."""
    return {"type": "text", "text": text}


def _build_text_parts(result: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - any JSON
    """Return the text of a page, the messages of a prompt, or JSON."""
    if isinstance(result, dict) and result.get("exists", True):
        if isinstance(result.get("content"), str):
            return [
                build_text_part(part) for part in (result["content"], _describe_cut(result)) if part
            ]
        messages = result.get("messages")
        if isinstance(messages, list) and all("content" in message for message in messages):
            return [build_text_part(message["content"]) for message in messages]
    return [build_text_part(json.dumps(result, ensure_ascii=False))]


def _describe_cut(result: dict[str, Any]) -> str:
    """Describe the cut of a text, its length and how to read the rest, or "" for a whole text."""
    if not result.get("truncated"):
        return ""
    hint = result.get("hint", "")
    return f"(Cut: it has {result['content_length']} characters.{' ' if hint else ''}{hint})"
