"""Bodies of requests: read up to a limit of bytes and seconds, taken as JSON or as a page.

Large ones are read only while there is room, and parsed in a thread.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, NoReturn

from anyio.to_thread import run_sync
from starlette.requests import ClientDisconnect

from looseleaf.values import value
from looseleaf.web.body_budget import SMALL, too_many_bodies
from looseleaf.web.problems import Problem, too_large

if TYPE_CHECKING:
    from starlette.requests import Request

    from looseleaf.web.body_budget import BodyBudget

_MOST_NUMBER = 2**53 - 1  # beyond it programs no longer agree on whole numbers
FORM = "application/x-www-form-urlencoded"
_UTF_8 = ("", "utf-8", "utf8", "us-ascii", "ascii")


@value
class Limits:
    """How large a body may be, how long it may take, and who sends it."""

    size: int
    seconds: float
    sender: str = ""


async def read_body(request: Request, limits: Limits, budget: BodyBudget) -> bytes:
    """Read the body, or stop as soon as it is too large or too slow."""
    length = request.headers.get("content-length", "")
    known = int(length[:20]) if length.isascii() and length.isdigit() else None
    if known is not None and known > limits.size:
        raise too_large(limits.size)
    expected = limits.size if known is None else known
    has_room = expected <= SMALL
    try:
        async with asyncio.timeout(limits.seconds):
            if has_room:
                return await _received(request, limits.size)
            async with budget.room(limits.sender, expected):
                has_room = True
                return await _received(request, limits.size)
    except TimeoutError:
        if not has_room:
            raise too_many_bodies(limits.seconds) from None
        seconds = limits.seconds
        message = f"The request did not arrive within {seconds:g} seconds."
        raise Problem(408, "too_slow", message, headers={"connection": "close"}) from None
    except ClientDisconnect:
        raise Problem(400, "disconnected", "The request ended too early.") from None


async def _received(request: Request, limit: int) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise too_large(limit)
        parts.append(part)
    return b"".join(parts)


def media_type(request: Request) -> str:
    """Give the type of the body, in lower case; text of another encoding than UTF-8 is refused."""
    kind, _, parameters = request.headers.get("content-type", "").lower().partition(";")
    kind = kind.strip()
    if kind.startswith("multipart/"):
        raise _no_form()
    for parameter in parameters.split(";"):
        name, _, told = parameter.partition("=")
        if name.strip() == "charset" and told.strip().strip('"') not in _UTF_8:
            raise Problem(415, "unsupported_media_type", "Pages are UTF-8; send them so.")
    return kind


def _no_form() -> Problem:
    message = (
        "A form is not taken. Send the text itself (Content-Type: text/markdown or text/plain) or "
        "JSON (Content-Type: application/json)."
    )
    return Problem(415, "unsupported_media_type", message)


def is_json(kind: str) -> bool:
    """Say whether a media type is JSON."""
    return kind == "application/json" or kind.endswith("+json")


def parsed(raw: bytes) -> Any:  # noqa: ANN401 - whatever JSON can say
    """Read JSON as programs agree on it: UTF-8, each key once, no NaN, numbers within bounds."""
    try:
        return json.loads(
            raw.decode(),
            parse_constant=_no_constant,
            parse_int=_bounded,
            parse_float=_finite,
            object_pairs_hook=_once,
        )
    except (ValueError, RecursionError) as error:
        why = "too deep" if isinstance(error, RecursionError) else str(error)
        raise Problem(400, "invalid_json", f"The body is not JSON: {why}.") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _bounded(digits: str) -> int:
    if len(digits) > 17 or abs(number := int(digits)) > _MOST_NUMBER:
        raise ValueError("a whole number is beyond 2^53")
    return number


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError("a number is too large")
    return number


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found


async def parse_object(raw: bytes) -> dict[str, Any]:
    """Read a body that is a JSON object; a large one in a thread, while others are answered."""
    return as_object(raw) if len(raw) <= SMALL else await run_sync(as_object, raw)


async def parse_page(raw: bytes, kind: str) -> tuple[str, dict[str, Any]]:
    """Take the text of a page from a body, as `page_content`; a large one in a thread."""
    if len(raw) <= SMALL:
        return page_content(raw, kind)
    return await run_sync(page_content, raw, kind)


def as_object(raw: bytes) -> dict[str, Any]:
    """Read a body that is a JSON object; no body is an empty one."""
    if not raw.strip():
        return {}
    found = parsed(raw)
    if not isinstance(found, dict):
        raise Problem(400, "invalid_json", "The body must be a JSON object.")
    return found


def page_content(raw: bytes, kind: str) -> tuple[str, dict[str, Any]]:
    """Take the text of a page from a body, raw or as JSON `content`, and what else JSON says."""
    if kind == FORM:
        raise _no_form()
    if is_json(kind):
        given = as_object(raw)
        content = given.pop("content", None)
        if not isinstance(content, str):
            message = 'The body needs "content", a string: {"content": "…"}.'
            raise Problem(400, "missing_content", message)
        return content, given
    if not raw:
        message = (
            "There is no content. Send the text of the page as the body. To empty a page, send "
            '{"content": ""} as application/json.'
        )
        raise Problem(400, "missing_content", message)
    try:
        return raw.decode(), {}
    except UnicodeDecodeError as error:
        message = f"The body is not UTF-8 text (byte {error.start})."
        raise Problem(400, "not_text", message) from None
