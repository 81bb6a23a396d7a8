"""Calling operations from requests: who asks, with which arguments, and how the result leaves."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from looseleaf.operations import run
from looseleaf.web.answers import answer
from looseleaf.web.arguments import combined, from_query, kinds_of
from looseleaf.web.bodies import Limits, media_type, parse_object, read_body
from looseleaf.web.listing import paged
from looseleaf.web.plugin_answers import ENTRIES
from looseleaf.web.plugin_errors import plugin_errors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from looseleaf.operations.catalog import Operation
    from looseleaf.operations.context import Context
    from looseleaf.web.body_budget import BodyBudget
    from looseleaf.web.endpoints import Endpoint
    from looseleaf.web.reception import Reception
    from looseleaf.web.workers import Workers

# Arguments that may be as long as a page; requests of operations without one are short.
_LONG = frozenset(("attachments", "config", "content", "data", "message", "new", "old", "setting"))
SHORT_BYTES = 65_536


def reception_of(request: Request) -> Reception:
    """Give the reception of the server that a request came to."""
    found: Reception = request.app.state.reception
    return found


def workers_of(request: Request) -> Workers:
    """Give the threads of the server that a request came to."""
    workers: Workers = request.app.state.workers
    return workers


async def body_of(
    request: Request, operation: Operation | None = None, *, size: int | None = None
) -> bytes:
    """Read the body within the limits of the settings; a short one, where that is enough."""
    reception = reception_of(request)
    settings = reception.workspace.settings
    if size is None:
        is_long = operation is None or not _LONG.isdisjoint(kinds_of(operation))
        size = settings.max_request_bytes if is_long else SHORT_BYTES
    budget: BodyBudget = request.app.state.body_budget
    limits = Limits(
        min(size, settings.max_request_bytes), settings.request_seconds, reception.sender(request)
    )
    return await read_body(request, limits, budget)


async def respond(request: Request, endpoint: Endpoint) -> Response:
    """Answer a request by the operation that its address means."""
    context = reception_of(request).context(request)
    operation = run.find(context, endpoint.operation)
    query, window = paged(request)
    asked = from_query(operation, query)
    body = {}
    if request.method not in ("GET", "HEAD", "DELETE"):
        media_type(request)
        body = await parse_object(await body_of(request, operation))
        if endpoint.whole_body:
            body = {endpoint.whole_body: body}
    given = combined(dict(request.path_params), dict(endpoint.fixed), asked, body)
    with plugin_errors(operation.name, given):
        result = await invoke(request, context, operation, given)
    entry = ENTRIES.get(operation.name)
    if isinstance(result, list):
        items = [entry(context, one) for one in result] if entry else result
        return window.answer(items, endpoint.status)
    return answer(entry(context, result) if entry else result, endpoint.status)


async def invoke(
    request: Request, context: Context, operation: Operation, given: Mapping[str, Any]
) -> Any:  # noqa: ANN401 - whatever the operation gives
    """Run an operation in a thread of the server."""
    work = partial(run.invoke, context, operation.name, given)
    return await workers_of(request).run(context, operation, given, work)
