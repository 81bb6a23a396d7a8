"""Talking over the network: an answer whole, or as server-sent events while it comes."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.responses import StreamingResponse

from looseleaf.chat.events import told
from looseleaf.errors import Forbidden, LooseleafError, Unauthenticated, Unavailable
from looseleaf.operations import chat, run
from looseleaf.operations.schema import arguments, plain
from looseleaf.web.answers import answer, encoded, of_error
from looseleaf.web.arguments import combined, from_query
from looseleaf.web.bodies import media_type, parse_object
from looseleaf.web.calls import body_of, reception_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from starlette.requests import Request
    from starlette.responses import Response

    from looseleaf.chat.events import Event
    from looseleaf.operations.context import Context

SEND, CONTINUE = "datamachine/send-message", "looseleaf/continue-chat"
EVENTS = "text/event-stream"
# Turns at once; each waits in a thread of its own, apart from those of other requests. To begin one
# is work for the processor, and many threads at work would keep the server from answering others.
MOST_TALKING, MOST_BEGINNING = 256, 4
_ALIVE_SECONDS = 15.0
_LOOK_SECONDS = 0.5  # between two looks whether the credential of a stream still counts
_ALIVE = b": still there\n\n"


async def send(request: Request) -> Response:
    """Say something to an agent; `X-Request-Id` makes it safe to send again."""
    return await _talk(request, SEND)


async def go_on(request: Request) -> Response:
    """Let an agent answer what it has not answered yet."""
    return await _talk(request, CONTINUE)


TALKING = {SEND: send, CONTINUE: go_on}


async def _talk(request: Request, name: str) -> Response:
    context = reception_of(request).context(request)
    operation = run.find(context, name)
    run.require_precondition_kept(context, operation)
    query = [one for one in request.query_params.multi_items() if one[0] != "stream"]
    media_type(request)
    body = await parse_object(await body_of(request, operation))
    streams = _streams(request, body.pop("stream", None))
    header = request.headers.get("x-request-id")
    resend = {"request": header} if header and name == SEND else {}
    given = combined(from_query(operation, query), body, resend)
    chosen = arguments(operation, given)
    threads = _threads(request)
    events = await run_sync(lambda: _begun(context, name, chosen), limiter=threads.beginning)
    if not streams:
        reply = await run_sync(lambda: chat.replied(context, events), limiter=threads.talking)
        return answer(plain(reply))
    return StreamingResponse(
        _streamed(request, context, events),
        media_type=EVENTS,
        headers={"cache-control": "no-store"},
    )


def _streams(request: Request, told_so: object) -> bool:
    asked = request.query_params.get("stream", "")
    return told_so is True or asked in ("1", "true") or EVENTS in request.headers.get("accept", "")


def _begun(context: Context, name: str, chosen: dict[str, Any]) -> Iterator[Event]:
    """Begin a turn, or raise what is wrong with it before a word is sent."""
    where = chosen.pop("where", None)
    operation = run.find(context, name)
    try:
        events = chat.begun(context, chosen, where)
    except Forbidden as refusal:
        run.record(context, operation, chosen, refusal)
        raise
    run.record(context, operation, chosen)
    return events


async def _streamed(
    request: Request, context: Context, events: Iterator[Event]
) -> AsyncIterator[bytes]:
    """Send each event as it comes; a turn goes on when its reader leaves, and is read later.

    A credential that is revoked ends the stream at once, and the turn before its next step.
    """
    inbox = _pulled(request, events)
    silent = 0.0
    while True:
        try:
            part = await asyncio.wait_for(inbox.get(), _LOOK_SECONDS)
        except TimeoutError:
            part, silent = b"", silent + _LOOK_SECONDS
        if part is None:
            return
        if not _is_current(context):
            yield _failed(request, Unauthenticated("The credential of this stream was revoked"))
            return
        if silent >= _ALIVE_SECONDS:
            part = _ALIVE
        if part:
            silent = 0.0
            yield part


def _pulled(request: Request, events: Iterator[Event]) -> asyncio.Queue[bytes | None]:
    """Take the turn in a thread, whether or not anyone reads; None in the queue is its end."""
    loop, inbox = asyncio.get_running_loop(), asyncio.Queue[bytes | None]()

    def put(part: bytes | None) -> None:
        with suppress(RuntimeError):  # the server is closing; the turn still ends as it should
            loop.call_soon_threadsafe(inbox.put_nowait, part)

    def pull() -> None:
        try:
            for event in events:
                put(_sent(told(event)))
        except LooseleafError as error:
            put(_failed(request, error))
        except Exception as error:  # noqa: BLE001 - the headers are gone, so it is told as an event
            sys.stderr.write(f"looseleaf: a turn failed: {type(error).__name__}: {error}\n")
            put(_sent({"event": "error", "code": "internal_error", "message": "Look at the log."}))
        finally:
            put(None)

    threads = _threads(request)
    working = asyncio.ensure_future(run_sync(pull, limiter=threads.talking))
    threads.turns.add(working)
    working.add_done_callback(threads.turns.discard)
    return inbox


def _is_current(context: Context) -> bool:
    try:
        return context.is_current()
    except Unavailable:
        return True  # the database is asked again; a turn cannot go on without it either


def _sent(document: dict[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (document["event"].encode(), encoded(plain(document)))


def _failed(request: Request, error: LooseleafError) -> bytes:
    body = of_error(request, error).body
    return b"event: error\ndata: %s\n\n" % bytes(body)


class Threads:
    """The threads of conversations, and the turns that run in them."""

    def __init__(self) -> None:
        self.talking = CapacityLimiter(MOST_TALKING)
        self.beginning = CapacityLimiter(MOST_BEGINNING)
        self.turns: set[asyncio.Future[None]] = set()  # kept, or they would be collected


def _threads(request: Request) -> Threads:
    """Give the threads of this server, made in the loop that uses them."""
    state = request.app.state
    if not hasattr(state, "chat_threads"):
        state.chat_threads = Threads()
    found: Threads = state.chat_threads
    return found
