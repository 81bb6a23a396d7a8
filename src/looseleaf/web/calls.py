"""Calling operations from requests: who asks, with which arguments, and how the result leaves."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from looseleaf.operations import run
from looseleaf.web.answers import answer
from looseleaf.web.arguments import combined, from_query
from looseleaf.web.bodies import as_object, media_type, read_body
from looseleaf.web.listing import paged
from looseleaf.web.problems import Problem
from looseleaf.web.representation import with_old_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from looseleaf.operations.catalog import Operation
    from looseleaf.operations.context import Context
    from looseleaf.web.endpoints import Endpoint
    from looseleaf.web.reception import Reception

READ_SECONDS = 60.0


def reception_of(request: Request) -> Reception:
    """Give the reception of the server that a request came to."""
    found: Reception = request.app.state.reception
    return found


async def body_of(request: Request) -> bytes:
    """Read the body within the limits of the settings."""
    settings = reception_of(request).workspace.settings
    return await read_body(
        request, limit=settings.max_request_bytes, seconds=settings.request_seconds
    )


async def respond(request: Request, endpoint: Endpoint) -> Response:
    """Answer a request by the operation that its address means."""
    context = reception_of(request).context(request)
    operation = run.find(context, endpoint.operation)
    query, window = paged(request)
    asked = from_query(operation, query)
    body = {}
    if request.method not in ("GET", "HEAD", "DELETE"):
        media_type(request)
        body = as_object(await body_of(request))
    given = combined(dict(request.path_params), dict(endpoint.fixed), asked, body)
    result = await invoke(context, operation, given)
    if isinstance(result, list):
        told = [with_old_names(one) if isinstance(one, dict) else one for one in result]
        return window.answer(told, endpoint.status)
    return answer(result, endpoint.status)


async def invoke(context: Context, operation: Operation, given: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Run an operation in a thread; only what changes nothing may be given up for being slow."""
    work = run_in_threadpool(run.invoke, context, operation.name, given)
    if not operation.read_only:
        return await work
    try:
        return await asyncio.wait_for(work, READ_SECONDS)
    except TimeoutError:
        message = f"It took more than {READ_SECONDS:g} seconds. Ask for less."
        raise Problem(503, "took_too_long", message, headers={"retry-after": "60"}) from None
