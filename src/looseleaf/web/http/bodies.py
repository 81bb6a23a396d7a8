"""Bodies of requests: read within limits of size and time, parsed as JSON or as a page.

Large bodies are read only while the memory budget allows, and parsed in a thread.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from anyio.to_thread import run_sync
from starlette.requests import ClientDisconnect, Request

from looseleaf.values import value
from looseleaf.web.http.responses import RequestError, build_too_large

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from looseleaf.web.http.authentication import Authenticator


# The memory budget of large bodies while they arrive, in total and for each sender.


SMALL = 65_536  # bytes of a body outside the budget
BUDGET_BYTES = 48_000_000


class BodyBudget:
    """Counts the bytes reserved for arriving bodies; a body without free space waits unread."""

    def __init__(self, limit: int = BUDGET_BYTES) -> None:
        self.limit = limit
        self.reserved_bytes = 0
        self._bytes_by_sender: dict[str, int] = {}
        self._condition = asyncio.Condition()

    @asynccontextmanager
    async def reserve(self, sender: str, size: int) -> AsyncIterator[None]:
        """Wait for space for a body, and reserve the space while the body is read."""
        async with self._condition:
            await self._condition.wait_for(lambda: self._fits(sender, size))
            self._add_bytes(sender, size)
        try:
            yield
        finally:
            self._add_bytes(sender, -size)
            async with self._condition:
                self._condition.notify_all()

    def _fits(self, sender: str, size: int) -> bool:
        sender_bytes = self._bytes_by_sender.get(sender, 0)
        # A single body always fits, even if the settings allow very large ones.
        fits_all = not self.reserved_bytes or self.reserved_bytes + size <= self.limit
        return fits_all and (not sender_bytes or sender_bytes + size <= self.limit // 2)

    def _add_bytes(self, sender: str, size: int) -> None:
        self.reserved_bytes += size
        sender_bytes = self._bytes_by_sender.get(sender, 0) + size
        if sender_bytes:
            self._bytes_by_sender[sender] = sender_bytes
        else:
            self._bytes_by_sender.pop(sender, None)


def build_too_busy(seconds: float) -> RequestError:
    """Build the error for a body that found no space in time."""
    message = (
        f"Too many large requests arrive at once; no space was free within {seconds:g} seconds."
    )
    headers = {"retry-after": "5", "connection": "close"}
    return RequestError(503, "too_busy", message, headers=headers)


_MOST_NUMBER = 2**53 - 1  # larger whole numbers are not exact in every program
FORM = "application/x-www-form-urlencoded"
_UTF_8 = ("", "utf-8", "utf8", "us-ascii", "ascii")


@value
class BodyLimits:
    """The largest size and time of a body, and its sender."""

    size: int
    seconds: float
    sender: str = ""


async def read_body(request: Request, limits: BodyLimits, budget: BodyBudget) -> bytes:
    """Read the body; refuse it as soon as it is too large or too slow."""
    length = request.headers.get("content-length", "")
    declared_size = int(length[:20]) if length.isascii() and length.isdigit() else None
    if declared_size is not None and declared_size > limits.size:
        raise build_too_large(limits.size)
    expected = limits.size if declared_size is None else declared_size
    has_room = expected <= SMALL
    try:
        async with asyncio.timeout(limits.seconds):
            if has_room:
                return await _read_stream(request, limits.size)
            async with budget.reserve(limits.sender, expected):
                has_room = True
                return await _read_stream(request, limits.size)
    except TimeoutError:
        if not has_room:
            raise build_too_busy(limits.seconds) from None
        seconds = limits.seconds
        message = f"The request did not arrive within {seconds:g} seconds."
        raise RequestError(408, "too_slow", message, headers={"connection": "close"}) from None
    except ClientDisconnect:
        raise RequestError(400, "disconnected", "The request ended too early.") from None


async def _read_stream(request: Request, limit: int) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise build_too_large(limit)
        parts.append(part)
    return b"".join(parts)


def media_type_of(request: Request) -> str:
    """Return the media type of the body in lower case; refuse encodings other than UTF-8."""
    kind, _, parameters = request.headers.get("content-type", "").lower().partition(";")
    kind = kind.strip()
    if kind.startswith("multipart/"):
        raise _build_form_error()
    for parameter in parameters.split(";"):
        name, _, charset = parameter.partition("=")
        if name.strip() == "charset" and charset.strip().strip('"') not in _UTF_8:
            raise RequestError(415, "unsupported_media_type", "Pages are UTF-8; send UTF-8.")
    return kind


def _build_form_error() -> RequestError:
    message = (
        "Forms are not accepted. Send the text itself (Content-Type: text/markdown or text/plain) "
        "or JSON (Content-Type: application/json)."
    )
    return RequestError(415, "unsupported_media_type", message)


def is_json(kind: str) -> bool:
    """Return whether a media type is JSON."""
    return kind == "application/json" or kind.endswith("+json")


def parse_json(raw: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Parse strict JSON: UTF-8, each key once, no NaN, numbers within bounds."""
    try:
        return json.loads(
            raw.decode(),
            parse_constant=_refuse_constant,
            parse_int=_parse_int,
            parse_float=_parse_float,
            object_pairs_hook=_build_object,
        )
    except (ValueError, RecursionError) as error:
        reason = "too deep" if isinstance(error, RecursionError) else str(error)
        raise RequestError(400, "invalid_json", f"The body is not JSON: {reason}.") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _parse_int(digits: str) -> int:
    if len(digits) > 17 or abs(number := int(digits)) > _MOST_NUMBER:
        raise ValueError("a whole number is beyond 2^53")
    return number


def _parse_float(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError("a number is too large")
    return number


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key is given twice")
    return members


async def parse_object(raw: bytes, kind: str) -> dict[str, Any]:
    """Parse a body that is a JSON object; a large one in a thread.

    curl sends a body of `-d` with the type of a form, so JSON of that type is read; a form is not.
    """
    try:
        return as_object(raw) if len(raw) <= SMALL else await run_sync(as_object, raw)
    except RequestError:
        if kind == FORM:
            raise _build_form_error() from None
        raise


async def parse_page(raw: bytes, kind: str) -> tuple[str, dict[str, Any]]:
    """Parse the text of a page from a body, like `parse_content`; a large one in a thread."""
    if len(raw) <= SMALL:
        return parse_content(raw, kind)
    return await run_sync(parse_content, raw, kind)


def as_object(raw: bytes) -> dict[str, Any]:
    """Parse a body that is a JSON object; an empty body is an empty object."""
    if not raw.strip():
        return {}
    document = parse_json(raw)
    if not isinstance(document, dict):
        raise RequestError(400, "invalid_json", "The body must be a JSON object.")
    return document


def parse_content(raw: bytes, kind: str) -> tuple[str, dict[str, Any]]:
    """Return the text of a page, raw or from JSON `content`, and the other JSON fields."""
    if kind == FORM:
        raise _build_form_error()
    if is_json(kind):
        fields = as_object(raw)
        content = fields.pop("content", None)
        if not isinstance(content, str):
            message = 'The body needs "content", a string: {"content": "…"}.'
            raise RequestError(400, "missing_content", message)
        return content, fields
    if not raw:
        message = (
            "There is no content. Send the text of the page as the body. To empty a page, send "
            '{"content": ""} as application/json.'
        )
        raise RequestError(400, "missing_content", message)
    try:
        return raw.decode(), {}
    except UnicodeDecodeError as error:
        message = f"The body is not UTF-8 text (byte {error.start})."
        raise RequestError(400, "not_text", message) from None


# Buffered bodies for an application that reads bodies itself: complete, and within the limits.


BUFFERED_BYTES = 4_194_304  # the inner application parses it on the event loop


class BufferedBody:
    """Reads the body of an authenticated request, then calls the application."""

    def __init__(self, app: ASGIApp, authenticator: Authenticator, budget: BodyBudget) -> None:
        self.app = app
        self.authenticator = authenticator
        self.budget = budget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        request = Request(scope, receive)
        if scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        self.authenticator.principal(request)  # refuse an unauthenticated body
        settings = self.authenticator.workspace.settings
        size = min(settings.max_request_bytes, BUFFERED_BYTES)
        limits = BodyLimits(size, settings.request_seconds, self.authenticator.sender(request))
        body = await read_body(request, limits, self.budget)
        is_delivered = False

        async def replay() -> Message:
            nonlocal is_delivered
            if is_delivered:
                return await receive()
            is_delivered = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, replay, send)
