"""Archives over REST: a bundle or a source of an import as the body of a request or answer."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from looseleaf.catalog import dispatch
from looseleaf.catalog.resolution import find_operation
from looseleaf.web.http.bodies import media_type_of, parse_object
from looseleaf.web.http.responses import answer, format_etag
from looseleaf.web.rest.calls import (
    authenticator_of,
    budget_of,
    combine,
    from_query,
    invoke,
    read_call,
    read_object,
)

if TYPE_CHECKING:
    from starlette.requests import Request

    from looseleaf.plugins.endpoints import Endpoint

ARCHIVE = "application/zip"
_RAW = (ARCHIVE, "application/octet-stream")


async def receive_archive(request: Request, endpoint: Endpoint) -> Response:
    """Run an operation on an archive, sent as raw bytes or as base64 in JSON."""
    context = authenticator_of(request).context(request)
    operation = find_operation(context, endpoint.operation)
    dispatch.require_precondition_kept(context, operation)
    query = from_query(operation, request.query_params.multi_items())
    kind = media_type_of(request)
    raw = await read_call(request, context, operation)
    if kind in _RAW:
        body: dict[str, Any] = {"data": b64encode(raw).decode()}
    else:
        body = await parse_object(raw, kind, budget_of(request))
    return answer(await invoke(request, context, operation, combine(query, body)))


async def export_bundle(request: Request, endpoint: Endpoint) -> Response:
    """Return a bundle as JSON, or as the archive itself if `Accept` asks for it."""
    context = authenticator_of(request).context(request)
    operation = find_operation(context, endpoint.operation)
    query = from_query(operation, request.query_params.multi_items())
    body = await read_object(request, context, operation)
    result = await invoke(request, context, operation, combine(query, body))
    headers = {"etag": format_etag(result["hash"])}
    if ARCHIVE not in request.headers.get("accept", ""):
        return answer(result, 200, headers)
    filename = f"{result['bundle_slug']}.zip"
    headers["content-disposition"] = f'attachment; filename="{filename}"'
    return Response(b64decode(result["data"]), 200, headers, ARCHIVE)
