"""The description of the API: for people a page that lists every route, for programs OpenAPI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from looseleaf.web.admin.site import site_of
from looseleaf.web.http.responses import JSON, encode_json
from looseleaf.web.rest.calls import authenticator_of
from looseleaf.web.rest.openapi import build_document

if TYPE_CHECKING:
    from starlette.requests import Request


async def show_api(request: Request) -> Response:
    """Return the page that lists every route; it reads /openapi.json."""
    return site_of(request).bare_page(request, "api.html", {"title": "API"})


async def show_openapi(request: Request) -> Response:
    """Return the OpenAPI document."""
    state = request.app.state
    if not hasattr(state, "openapi"):
        context = authenticator_of(request).workspace.context
        state.openapi = encode_json(build_document(context))
    return Response(state.openapi, media_type=JSON)
