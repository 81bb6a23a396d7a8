"""What a tool gives back: structured content and text, or an error that says what to do next."""

from __future__ import annotations

import json
import sys

from looseleaf.errors import Invalid, LooseleafError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MOST_ITEMS = 10_000
# What to do next, where the error's own words are made for people at a command line.
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


def answer(work: Callable[[], Any]) -> dict[str, Any]:
    """Give what the work comes to, or its error, as the result of a tool."""
    try:
        return success(bounded(work()))
    except LooseleafError as error:
        return failure(error.code, str(error), _NEXT.get(error.code, ""))
    except Exception:  # noqa: BLE001 - a fault of ours ends one call, not the server
        report_fault()
        return failure(
            "internal_error", "Something went wrong in the server.", "Tell your operator."
        )


def bounded(result: Any) -> Any:  # noqa: ANN401 - any JSON
    """Give a result that a model can take; a list that is longer says so instead."""
    if isinstance(result, list) and len(result) > MOST_ITEMS:
        raise Invalid(f"There are {len(result)} of them, more than {MOST_ITEMS}. Ask for less.")
    return result


def report_fault() -> None:
    """Write the error that is being handled for the operator: it may name files of this machine."""
    import traceback

    sys.stderr.write(traceback.format_exc())


def success(result: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """Give a result twice: as data, and as a model reads it best."""
    structured = result if isinstance(result, dict) else {"result": result}
    return {"content": _text(result), "isError": False, "structuredContent": structured}


def failure(code: str, message: str, hint: str = "") -> dict[str, Any]:
    """Give an error with its stable code; the model sees it and can do better."""
    structured = {"code": code, "message": message, **({"hint": hint} if hint else {})}
    text = f"{code}: {message}" + (f" {hint}" if hint else "")
    return {"content": [text_part(text)], "isError": True, "structuredContent": structured}


def text_part(text: str) -> dict[str, Any]:
    """Give a text as a part of a result or of a message."""
    return {"type": "text", "text": text}


def _text(result: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - any JSON
    """Give a page as its text, a prompt as its messages, anything else as JSON."""
    if isinstance(result, dict) and result.get("exists", True):
        if isinstance(result.get("content"), str):
            return [text_part(part) for part in (result["content"], _notice(result)) if part]
        messages = result.get("messages")
        if isinstance(messages, list) and all("content" in one for one in messages):
            return [text_part(one["content"]) for one in messages]
    return [text_part(json.dumps(result, ensure_ascii=False))]


def _notice(result: dict[str, Any]) -> str:
    """Say that a text was cut, how long it is and how to read the rest; "" where it is whole."""
    if not result.get("truncated"):
        return ""
    hint = result.get("hint", "")
    return f"(Cut: it has {result['content_length']} characters.{' ' if hint else ''}{hint})"
