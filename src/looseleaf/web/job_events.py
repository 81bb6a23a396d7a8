"""A job or a list of jobs: as one answer, or as server-sent events for each change."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from starlette.responses import StreamingResponse

from looseleaf.catalog.resolution import find_operation
from looseleaf.errors import LooseleafError, Unavailable
from looseleaf.errors.access import Unauthenticated
from looseleaf.values import value
from looseleaf.web.http.connection import STOPPING
from looseleaf.web.http.open_streams import streams_of
from looseleaf.web.http.responses import answer_error, encode_json
from looseleaf.web.rest.arguments import combine, from_query
from looseleaf.web.rest.calls import authenticator_of, invoke, respond
from looseleaf.workflows.job import FINAL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Any

    from starlette.requests import Request
    from starlette.responses import Response

    from looseleaf.catalog.context import Context
    from looseleaf.plugins.endpoints import Endpoint

SHOW_JOB, LIST_JOBS = "datamachine/get-job", "datamachine/get-jobs"
EVENTS = "text/event-stream"
MOST_SECONDS = 3_600.0  # then the reader connects again
_ALIVE_SECONDS = 15.0
_ALIVE = b": still there\n\n"


@value
class Subject:
    """The subject of a stream: an operation, the name of its event, and its polling interval."""

    operation: str
    event: bytes
    poll_seconds: float


JOB = Subject(SHOW_JOB, b"job", 0.5)
JOBS = Subject(LIST_JOBS, b"jobs", 1.0)


async def show_job(request: Request, endpoint: Endpoint) -> Response:
    """Answer with a job, or with an event for each of its changes until it ends."""
    return await _answer(request, endpoint, JOB)


async def list_jobs(request: Request, endpoint: Endpoint) -> Response:
    """Answer with a list of jobs, or with an event for each change of the list."""
    return await _answer(request, endpoint, JOBS)


async def _answer(request: Request, endpoint: Endpoint, subject: Subject) -> Response:
    if EVENTS not in request.headers.get("accept", ""):
        return await respond(request, endpoint)
    context = authenticator_of(request).context(request)
    document = await _read(request, context, subject)  # an error comes before the stream begins
    streams_of(request).take(context.principal.credential)
    stream = _stream(request, context, subject, document)
    return StreamingResponse(stream, media_type=EVENTS, headers={"cache-control": "no-store"})


async def _read(request: Request, context: Context, subject: Subject) -> dict[str, Any]:
    operation = find_operation(context, subject.operation)
    arguments = combine(
        from_query(operation, list(request.path_params.items())),
        from_query(operation, request.query_params.multi_items()),
    )
    document: dict[str, Any] = await invoke(request, context, operation, arguments)
    return document


async def _stream(
    request: Request, context: Context, subject: Subject, document: dict[str, Any]
) -> AsyncIterator[bytes]:
    """Send the document whenever it has changed; a credential that is revoked ends the stream."""
    last_document: dict[str, Any] = {}
    end, next_alive = time.monotonic() + MOST_SECONDS, time.monotonic() + _ALIVE_SECONDS
    try:
        while True:
            if document != last_document:
                last_document, next_alive = document, time.monotonic() + _ALIVE_SECONDS
                yield b"event: %s\ndata: %s\n\n" % (subject.event, encode_json(document))
            if document.get("status") in FINAL or time.monotonic() > end:
                yield b"event: end\ndata: {}\n\n"
                return
            if time.monotonic() > next_alive:
                next_alive = time.monotonic() + _ALIVE_SECONDS
                yield _ALIVE
            await asyncio.sleep(subject.poll_seconds)
            if request.scope.get(STOPPING):
                return  # the reader connects again when the server is back
            if not _is_current(context):
                raise Unauthenticated("The credential of this stream was revoked")
            document = await _read(request, context, subject)
    except LooseleafError as error:
        yield b"event: error\ndata: %s\n\n" % bytes(answer_error(request, error).body)
    finally:
        streams_of(request).leave(context.principal.credential)


def _is_current(context: Context) -> bool:
    try:
        return context.is_current()
    except Unavailable:
        return True  # the next read asks the database again
