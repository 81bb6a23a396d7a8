"""Chat over REST: an answer as a whole, or as server-sent events while it comes."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.responses import StreamingResponse

from looseleaf.catalog import dispatch
from looseleaf.catalog.json_values import to_json_value
from looseleaf.catalog.resolution import find_operation
from looseleaf.catalog.schemas import parse_arguments
from looseleaf.catalog.tool_access import require_operation
from looseleaf.errors import Forbidden, LooseleafError, Unavailable
from looseleaf.errors.operations import Unauthenticated
from looseleaf.features.chat import operations
from looseleaf.features.chat.events import build_event_document
from looseleaf.web.http.bodies import release_body
from looseleaf.web.http.responses import answer, answer_error, encode_json
from looseleaf.web.http.workers import FairShares
from looseleaf.web.rest.calls import authenticator_of, combine, from_query, read_object

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from starlette.requests import Request
    from starlette.responses import Response

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import Operation
    from looseleaf.features.chat.events import Event
    from looseleaf.plugins.endpoints import Endpoint

Outcome = TypeVar("Outcome")
SEND = "datamachine/send-message"
EVENTS = "text/event-stream"
# Turns at once; each waits in a thread of its own, apart from the threads of other requests. The
# start of a turn takes processor time, and many busy threads would delay other requests.
MAX_TURNS, MAX_STARTS = 256, 4
_ALIVE_SECONDS = 15.0
_CHECK_SECONDS = 0.5  # between two checks whether the credential of a stream is still valid
_ALIVE = b": still there\n\n"


async def talk(request: Request, endpoint: Endpoint) -> Response:
    """Send a message, which `X-Request-Id` makes safe to repeat, or continue without one."""
    context = authenticator_of(request).context(request)
    operation = find_operation(context, endpoint.operation)
    dispatch.require_precondition_kept(context, operation)
    require_operation(context, operation, {})
    query = [pair for pair in request.query_params.multi_items() if pair[0] != "stream"]
    body = await read_object(request, context, operation)
    streams = _wants_stream(request, body.pop("stream", None))
    header = request.headers.get("x-request-id")
    resend = {"request": header} if header and operation.name == SEND else {}
    fields = combine(from_query(operation, query), body, resend)
    call_arguments = parse_arguments(operation, fields)
    threads = _threads_of(request)
    start = partial(_start_turn, context, operation, call_arguments)
    events = await threads.run(threads.starts, context, start)
    release_body(request.scope)  # the message is stored, and the turn may take minutes
    if not streams:
        collect = partial(operations.collect_reply, context, events)
        reply = await threads.run(threads.turns, context, collect)
        return answer(to_json_value(reply))
    return StreamingResponse(
        _stream_events(request, context, events),
        media_type=EVENTS,
        headers={"cache-control": "no-store"},
    )


def _wants_stream(request: Request, body_flag: object) -> bool:
    query_flag = request.query_params.get("stream", "")
    return (
        body_flag is True
        or query_flag in ("1", "true")
        or EVENTS in request.headers.get("accept", "")
    )


def _start_turn(
    context: Context, operation: Operation, call_arguments: dict[str, Any]
) -> Iterator[Event]:
    """Start a turn, or raise its error before anything is sent."""
    page_owner = call_arguments.pop("where", None)
    try:
        events = operations.begin_turn(context, call_arguments, page_owner)
    except Forbidden as refusal:
        dispatch.record_in_audit(context, operation, call_arguments, refusal)
        raise
    dispatch.record_in_audit(context, operation, call_arguments)
    return events


async def _stream_events(
    request: Request, context: Context, events: Iterator[Event]
) -> AsyncIterator[bytes]:
    """Send each event as it comes; the turn goes on when its reader disconnects.

    A credential that is revoked ends the stream at once, and the turn before its next step.
    """
    inbox = _run_turn(request, context, events)
    silent_seconds = 0.0
    while True:
        try:
            part = await asyncio.wait_for(inbox.get(), _CHECK_SECONDS)
        except TimeoutError:
            part, silent_seconds = b"", silent_seconds + _CHECK_SECONDS
        if part is None:
            return
        if not _is_current(context):
            yield _encode_error(
                request, Unauthenticated("The credential of this stream was revoked")
            )
            return
        if silent_seconds >= _ALIVE_SECONDS:
            part = _ALIVE
        if part:
            silent_seconds = 0.0
            yield part


def _run_turn(
    request: Request, context: Context, events: Iterator[Event]
) -> asyncio.Queue[bytes | None]:
    """Run the turn in a thread, with or without a reader; None in the queue is its end."""
    loop, inbox = asyncio.get_running_loop(), asyncio.Queue[bytes | None]()

    def put(part: bytes | None) -> None:
        with suppress(RuntimeError):  # the server is closing; the turn still ends normally
            loop.call_soon_threadsafe(inbox.put_nowait, part)

    def pull() -> None:
        try:
            for event in events:
                put(_encode_event(build_event_document(event)))
        except LooseleafError as error:
            put(_encode_error(request, error))
        except Exception as error:  # noqa: BLE001 - the headers are sent, so the error is an event
            sys.stderr.write(f"looseleaf: a turn failed: {type(error).__name__}: {error}\n")
            put(
                _encode_event(
                    {"event": "error", "code": "internal_error", "message": "Look at the log."}
                )
            )
        finally:
            put(None)

    threads = _threads_of(request)

    async def run() -> None:
        try:
            await threads.run(threads.turns, context, pull)
        except LooseleafError as error:  # too many turns of this person wait already
            put(_encode_error(request, error))
            put(None)

    turn_future = asyncio.ensure_future(run())
    threads.running.add(turn_future)
    turn_future.add_done_callback(threads.running.discard)
    return inbox


def _is_current(context: Context) -> bool:
    try:
        return context.is_current()
    except Unavailable:
        return True  # the next check asks the database again; a turn needs it as well


def _encode_event(document: dict[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (
        document["event"].encode(),
        encode_json(to_json_value(document)),
    )


def _encode_error(request: Request, error: LooseleafError) -> bytes:
    body = answer_error(request, error).body
    return b"event: error\ndata: %s\n\n" % bytes(body)


class Threads:
    """The threads of conversations, and the turns that run in them."""

    def __init__(self) -> None:
        self.turns = FairShares("Talking by one user", MAX_TURNS, MAX_TURNS // 2, MAX_TURNS // 8)
        self.starts = FairShares("Talking by one user", MAX_STARTS, MAX_STARTS // 2, 1)
        # Kept, or they would be garbage-collected.
        self.running: set[asyncio.Future[None]] = set()

    async def run(
        self, shares: FairShares, context: Context, work: Callable[[], Outcome]
    ) -> Outcome:
        """Run work in a thread, in the share of the person who talks."""
        user = context.principal.user_id
        await shares.enter(user)
        return await shares.run(user, work)


def _threads_of(request: Request) -> Threads:
    """Return the threads of this server, created in the loop that uses them."""
    state = request.app.state
    if not hasattr(state, "chat_threads"):
        state.chat_threads = Threads()
    threads: Threads = state.chat_threads
    return threads
