"""The progress of a job as server-sent events; without that wish, the job as it is now."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from starlette.responses import StreamingResponse

from looseleaf.catalog.resolution import find_operation
from looseleaf.errors import LooseleafError, Unauthenticated, Unavailable
from looseleaf.web.http.responses import encode_json, of_error
from looseleaf.web.rest.arguments import from_query
from looseleaf.web.rest.calls import authenticator_of, invoke, respond
from looseleaf.web.rest.endpoints import ENDPOINTS
from looseleaf.workflows.job import FINAL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Any

    from starlette.requests import Request
    from starlette.responses import Response

    from looseleaf.catalog.context import Context

SHOW_JOB = "datamachine/get-job"
EVENTS = "text/event-stream"
MOST_SECONDS = 3_600.0  # then the reader connects again
_LOOK_SECONDS = 0.5
_ALIVE_SECONDS = 15.0
_ALIVE = b": still there\n\n"
_ENDPOINT = next(endpoint for endpoint in ENDPOINTS if endpoint.operation == SHOW_JOB)


async def show_job(request: Request) -> Response:
    """Answer with a job, or with an event for each of its changes until it ends."""
    if EVENTS not in request.headers.get("accept", ""):
        return await respond(request, _ENDPOINT)
    context = authenticator_of(request).context(request)
    job = await _read_job(request, context)  # an error is answered before the stream begins
    return StreamingResponse(
        _stream(request, context, job), media_type=EVENTS, headers={"cache-control": "no-store"}
    )


JOB_HANDLERS = {SHOW_JOB: show_job}


async def _read_job(request: Request, context: Context) -> dict[str, Any]:
    operation = find_operation(context, SHOW_JOB)
    arguments = from_query(operation, list(request.path_params.items()))
    job: dict[str, Any] = await invoke(request, context, operation, arguments)
    return job


async def _stream(request: Request, context: Context, job: dict[str, Any]) -> AsyncIterator[bytes]:
    """Send the job whenever it has changed; a credential that is revoked ends the stream."""
    last_job: dict[str, Any] = {}
    end, next_sign = time.monotonic() + MOST_SECONDS, time.monotonic() + _ALIVE_SECONDS
    try:
        while True:
            if job != last_job:
                last_job, next_sign = job, time.monotonic() + _ALIVE_SECONDS
                yield b"event: job\ndata: %s\n\n" % encode_json(job)
            if job["status"] in FINAL or time.monotonic() > end:
                yield b"event: end\ndata: {}\n\n"
                return
            if time.monotonic() > next_sign:
                next_sign = time.monotonic() + _ALIVE_SECONDS
                yield _ALIVE
            await asyncio.sleep(_LOOK_SECONDS)
            if not _is_current(context):
                raise Unauthenticated("The credential of this stream was revoked")
            job = await _read_job(request, context)
    except LooseleafError as error:
        yield b"event: error\ndata: %s\n\n" % bytes(of_error(request, error).body)


def _is_current(context: Context) -> bool:
    try:
        return context.is_current()
    except Unavailable:
        return True  # the next look asks the database again
