"""Bundles over REST: an archive as the body of a request, or as the body of an answer."""

from __future__ import annotations

from base64 import b64decode, b64encode
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from looseleaf.catalog import dispatch
from looseleaf.catalog.resolution import find_operation
from looseleaf.web.http.bodies import media_type, parse_object
from looseleaf.web.http.preconditions import etag
from looseleaf.web.http.responses import answer
from looseleaf.web.rest.arguments import combine, from_query
from looseleaf.web.rest.calls import authenticator_of, body_of, invoke

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    Handler = Callable[[Request], Awaitable[Response]]

ARCHIVE = "application/zip"
EXPORT = "looseleaf/export-bundle"
_RECEIVING = (
    "looseleaf/inspect-bundle",
    "looseleaf/plan-bundle",
    "looseleaf/install-bundle",
    "looseleaf/upgrade-bundle",
)


async def receive_bundle(request: Request, *, name: str) -> Response:
    """Run an operation on a bundle: the raw archive, or JSON with the archive in base64."""
    context = authenticator_of(request).context(request)
    operation = find_operation(context, name)
    dispatch.require_precondition_kept(context, operation)
    query = from_query(operation, request.query_params.multi_items())
    if media_type(request) == ARCHIVE:
        body: dict[str, Any] = {"data": b64encode(await body_of(request)).decode()}
    else:
        body = await parse_object(await body_of(request, operation))
    return answer(await invoke(request, context, operation, combine(query, body)))


async def export_bundle(request: Request) -> Response:
    """Give a bundle as JSON, or as the archive itself where `Accept` asks for it."""
    context = authenticator_of(request).context(request)
    operation = find_operation(context, EXPORT)
    query = from_query(operation, request.query_params.multi_items())
    media_type(request)
    body = await parse_object(await body_of(request, operation))
    result = await invoke(request, context, operation, combine(query, body))
    headers = {"etag": etag(result["hash"])}
    if ARCHIVE not in request.headers.get("accept", ""):
        return answer(result, 200, headers)
    filename = f"{result['bundle_slug']}.zip"
    headers["content-disposition"] = f'attachment; filename="{filename}"'
    return Response(b64decode(result["data"]), 200, headers, ARCHIVE)


BUNDLE_HANDLERS: dict[str, Handler] = {
    EXPORT: export_bundle,
    **{name: partial(receive_bundle, name=name) for name in _RECEIVING},
}
