"""What a tool gives back: structured content and text, or an error that says what to do next."""

from __future__ import annotations

import json
import sys
import traceback
from typing import TYPE_CHECKING, Any

from mcp_types import CallToolResult, TextContent

from looseleaf.errors import LooseleafError

if TYPE_CHECKING:
    from collections.abc import Callable

# For whom the error's own words, made for people at a command line, are not enough.
_NEXT = {
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


def answer(work: Callable[[], Any]) -> CallToolResult:
    """Give what the work comes to, or its error, as the result of a tool."""
    try:
        return succeeded(work())
    except LooseleafError as error:
        return failed(error.code, str(error), _NEXT.get(error.code, ""))
    except Exception:  # noqa: BLE001 - a fault of ours ends one call, not the server
        # What went wrong may name files of this machine: it is for the operator.
        sys.stderr.write(traceback.format_exc())
        return failed(
            "internal_error", "Something went wrong in the server.", "Tell your operator."
        )


def succeeded(result: Any) -> CallToolResult:  # noqa: ANN401 - any JSON
    """Give a result twice: as data, and as a model reads it best."""
    structured = result if isinstance(result, dict) else {"result": result}
    return CallToolResult(content=_text(result), structured_content=structured)


def failed(code: str, message: str, hint: str = "") -> CallToolResult:
    """Give an error with its stable code; the model sees it and can do better."""
    told = {"code": code, "message": message, **({"hint": hint} if hint else {})}
    text = f"{code}: {message}" + (f" {hint}" if hint else "")
    return CallToolResult(content=[TextContent(text=text)], structured_content=told, is_error=True)


def _text(result: Any) -> list[Any]:  # noqa: ANN401 - any JSON
    """Give a page as its text, a prompt as its messages, anything else as JSON."""
    if isinstance(result, dict) and result.get("exists", True):
        if isinstance(result.get("content"), str):
            parts = [result["content"]]
            if result.get("truncated"):
                parts.append(
                    f"(Cut: it has {result['content_length']} characters. {result['hint']})"
                )
            return [TextContent(text=part) for part in parts]
        messages = result.get("messages")
        if isinstance(messages, list) and all("content" in one for one in messages):
            return [TextContent(text=one["content"]) for one in messages]
    return [TextContent(text=json.dumps(result, ensure_ascii=False))]
