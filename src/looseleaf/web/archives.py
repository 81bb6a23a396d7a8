"""Archives over REST: a bundle or a source of an import as the body of a request or answer."""

from __future__ import annotations

from base64 import b64decode, b64encode
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from looseleaf.catalog import dispatch
from looseleaf.catalog.resolution import find_operation
from looseleaf.web.http.bodies import media_type_of, parse_object
from looseleaf.web.http.preconditions import format_etag
from looseleaf.web.http.responses import answer
from looseleaf.web.rest.arguments import combine, from_query
from looseleaf.web.rest.calls import authenticator_of, body_of, invoke

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    Handler = Callable[[Request], Awaitable[Response]]

ARCHIVE = "application/zip"
_RAW = (ARCHIVE, "application/octet-stream")
EXPORT = "looseleaf/export-bundle"
_RECEIVING = (
    "looseleaf/inspect-bundle",
    "looseleaf/plan-bundle",
    "looseleaf/install-bundle",
    "looseleaf/upgrade-bundle",
    "looseleaf/preview-import",
    "looseleaf/run-import",
    "looseleaf/rebase-bundle",
    "looseleaf/show-bundle-status",
)


async def receive_archive(request: Request, *, name: str) -> Response:
    """Run an operation on an archive, sent as raw bytes or as base64 in JSON."""
    context = authenticator_of(request).context(request)
    operation = find_operation(context, name)
    dispatch.require_precondition_kept(context, operation)
    query = from_query(operation, request.query_params.multi_items())
    kind = media_type_of(request)
    if kind in _RAW:
        body: dict[str, Any] = {"data": b64encode(await body_of(request)).decode()}
    else:
        body = await parse_object(await body_of(request, operation), kind)
    return answer(await invoke(request, context, operation, combine(query, body)))


async def export_bundle(request: Request) -> Response:
    """Give a bundle as JSON, or as the archive itself where `Accept` asks for it."""
    context = authenticator_of(request).context(request)
    operation = find_operation(context, EXPORT)
    query = from_query(operation, request.query_params.multi_items())
    kind = media_type_of(request)
    body = await parse_object(await body_of(request, operation), kind)
    result = await invoke(request, context, operation, combine(query, body))
    headers = {"etag": format_etag(result["hash"])}
    if ARCHIVE not in request.headers.get("accept", ""):
        return answer(result, 200, headers)
    filename = f"{result['bundle_slug']}.zip"
    headers["content-disposition"] = f'attachment; filename="{filename}"'
    return Response(b64decode(result["data"]), 200, headers, ARCHIVE)


ARCHIVE_HANDLERS: dict[str, Handler] = {
    EXPORT: export_bundle,
    **{name: partial(receive_archive, name=name) for name in _RECEIVING},
}
