"""Calls of operations by requests: principal, arguments and response."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from looseleaf.catalog import dispatch
from looseleaf.catalog.resolution import find_operation
from looseleaf.web.http.bodies import BodyLimits, media_type_of, parse_object, read_body
from looseleaf.web.http.preconditions import format_etag
from looseleaf.web.http.responses import answer
from looseleaf.web.rest.arguments import combine, from_query, kinds_of
from looseleaf.web.rest.paging import split_paging
from looseleaf.web.rest.plugin_answers import ENTRIES
from looseleaf.web.rest.plugin_errors import add_error_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import Operation
    from looseleaf.plugins.endpoints import Endpoint
    from looseleaf.web.http.authentication import Authenticator
    from looseleaf.web.http.body_budget import BodyBudget
    from looseleaf.web.http.workers import ServerThreads

# Arguments that may be as long as a page; requests of operations without one are short.
_LONG = frozenset(("attachments", "config", "content", "data", "message", "new", "old", "setting"))
_LONG |= {"document", "prompt", "prompt_queue", "step_settings", "steps", "system_prompt"}
SHORT_BYTES = 65_536


def authenticator_of(request: Request) -> Authenticator:
    """Return the authenticator of the server."""
    authenticator: Authenticator = request.app.state.authenticator
    return authenticator


def workers_of(request: Request) -> ServerThreads:
    """Return the worker threads of the server."""
    workers: ServerThreads = request.app.state.workers
    return workers


async def body_of(
    request: Request, operation: Operation | None = None, *, size: int | None = None
) -> bytes:
    """Read the body within the limits of the settings; a short limit if that is enough."""
    authenticator = authenticator_of(request)
    settings = authenticator.workspace.settings
    if size is None:
        is_long = operation is None or not _LONG.isdisjoint(kinds_of(operation))
        size = settings.max_request_bytes if is_long else SHORT_BYTES
    budget: BodyBudget = request.app.state.body_budget
    limits = BodyLimits(
        min(size, settings.max_request_bytes),
        settings.request_seconds,
        authenticator.sender(request),
    )
    return await read_body(request, limits, budget)


async def respond(request: Request, endpoint: Endpoint) -> Response:
    """Handle a request by the operation of its endpoint."""
    context = authenticator_of(request).context(request)
    operation = find_operation(context, endpoint.operation)
    query, window = split_paging(request)
    query_arguments = from_query(operation, query)
    body = {}
    if request.method not in ("GET", "HEAD", "DELETE"):
        kind = media_type_of(request)
        body = await parse_object(await body_of(request, operation), kind)
        if endpoint.whole_body:
            body = {endpoint.whole_body: body}
    path_arguments = from_query(operation, list(request.path_params.items()))
    arguments = combine(path_arguments, dict(endpoint.fixed_arguments), query_arguments, body)
    with add_error_fields(operation.name, arguments):
        result = await invoke(request, context, operation, arguments)
    entry = ENTRIES.get(operation.name)
    if isinstance(result, list):
        items = [entry(context, item) for item in result] if entry else result
        return window.answer(items, endpoint.status)
    headers = {"etag": format_etag(result["hash"])} if is_versioned(result) else None
    return answer(entry(context, result) if entry else result, endpoint.status, headers)


def is_versioned(result: object) -> bool:
    """Return whether a result has a version, which later changes may name."""
    return isinstance(result, dict) and isinstance(result.get("hash"), str) and bool(result["hash"])


async def invoke(
    request: Request, context: Context, operation: Operation, arguments: Mapping[str, Any]
) -> Any:  # noqa: ANN401 - the result of any operation
    """Run an operation in a thread of the server."""
    work = partial(dispatch.invoke, context, operation, arguments)
    return await workers_of(request).run(context, operation, arguments, work)
