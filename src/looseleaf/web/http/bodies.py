"""Bodies of requests: read within limits of size and time, parsed as JSON or as a page.

Large bodies are read only while the memory budget allows, and parsed in a thread, one at a time.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.requests import ClientDisconnect, Request

from looseleaf.values import value
from looseleaf.web.http.authentication import sender_of
from looseleaf.web.http.responses import RequestError, build_too_large

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, MutableMapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from looseleaf.web.http.authentication import Authenticator

Parsed = TypeVar("Parsed")

# The memory budget of large bodies until their requests are answered, in total and for each sender.


SMALL = 65_536  # bytes of a body outside the budget
BUDGET_BYTES = 48_000_000
_HELD = "looseleaf.body"  # in a request's scope: the functions that free its space


class BodyBudget:
    """Counts the bytes of bodies that arrive or are worked on; one without free space waits unread.

    Large bodies are parsed one at a time: a text may take four times its bytes while it is parsed.
    """

    def __init__(self, limit: int = BUDGET_BYTES) -> None:
        self.limit = limit
        self.reserved_bytes = 0
        self.parsing = CapacityLimiter(1)
        self._bytes_by_sender: dict[str, int] = {}
        self._waiters: list[tuple[str, int, asyncio.Future[None]]] = []

    async def take(self, sender: str, size: int) -> None:
        """Wait for space for a body, and reserve it until `free` is called."""
        if self._fits(sender, size):
            self._add_bytes(sender, size)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiter = (sender, size, future)
        self._waiters.append(waiter)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.free(sender, size)  # the space came just before the request was cancelled
            else:
                self._waiters.remove(waiter)
            raise

    def free(self, sender: str, size: int) -> None:
        """Free the space of a body, and give it to those that wait and fit."""
        self._add_bytes(sender, -size)
        for waiter in list(self._waiters):
            if self._fits(*waiter[:2]) and not waiter[2].done():
                self._waiters.remove(waiter)
                self._add_bytes(*waiter[:2])
                waiter[2].set_result(None)

    @asynccontextmanager
    async def reserve(self, sender: str, size: int) -> AsyncIterator[None]:
        """Wait for space for a body, and reserve the space during the block."""
        await self.take(sender, size)
        try:
            yield
        finally:
            self.free(sender, size)

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


def release_body(scope: MutableMapping[str, Any]) -> None:
    """Free the space of the body of a request that is answered, or needs the body no more."""
    for free in scope.pop(_HELD, ()):
        free()


def build_too_busy(seconds: float) -> RequestError:
    """Build the error for a body that found no space in time."""
    message = (
        f"Too many large requests arrive at once; no space was free within {seconds:g} seconds."
    )
    headers = {"retry-after": "5", "connection": "close"}
    return RequestError(503, "too_busy", message, headers=headers)


MOST_VALUES = 100_000  # of a body: numbers, texts, lists, objects
_SIGNS, _QUOTE = (b",", b"[", b"{"), ord('"')
# A string that does not end goes to the end of the text, so that nothing is looked at twice.
_STRING_OR_SIGN = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?|,|[\[{](?!\s*[\]}])', re.DOTALL)
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
            await budget.take(limits.sender, expected)
            has_room = True
            # The guard frees the space when the request is answered.
            free = partial(budget.free, limits.sender, expected)
            request.scope.setdefault(_HELD, []).append(free)
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
    """Parse strict JSON: UTF-8, few enough values, each key once, no NaN, numbers within bounds."""
    check_value_count(raw)
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


def check_value_count(raw: bytes) -> None:
    """Raise if a JSON text has too many values: each would take many times its bytes in memory.

    The values are counted before they are parsed: one, and another one after each comma and after
    each bracket that has something inside.
    """
    if len(raw) <= MOST_VALUES or sum(raw.count(sign) for sign in _SIGNS) < MOST_VALUES:
        return  # most texts; of the others, signs in strings do not count
    count = 1
    for match in _STRING_OR_SIGN.finditer(raw):
        count += raw[match.start()] != _QUOTE
        if count > MOST_VALUES:
            message = f"The JSON has more than {MOST_VALUES:,} values, the most this server reads."
            raise RequestError(413, "too_large", message, limit=MOST_VALUES)


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


async def parse_object(raw: bytes, kind: str, budget: BodyBudget) -> dict[str, Any]:
    """Parse a body that is a JSON object; a large one in a thread.

    curl sends a body of `-d` with the type of a form, so JSON of that type is read; a form is not.
    """
    try:
        return await parse_body(partial(as_object, raw), len(raw), budget)
    except RequestError:
        if kind == FORM:
            raise _build_form_error() from None
        raise


async def parse_body(parse: Callable[[], Parsed], size: int, budget: BodyBudget) -> Parsed:
    """Parse a body: a large one in a thread, after the one before it."""
    return parse() if size <= SMALL else await run_sync(parse, limiter=budget.parsing)


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
        limits = BodyLimits(size, settings.request_seconds, sender_of(request))
        body = await read_body(request, limits, self.budget)
        await parse_body(partial(check_value_count, body), len(body), self.budget)
        is_delivered = False

        async def replay() -> Message:
            nonlocal is_delivered
            if is_delivered:
                return await receive()
            is_delivered = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, replay, send)
