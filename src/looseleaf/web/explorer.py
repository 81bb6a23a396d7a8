"""Pages for people: signing in, and a list of everything the API can do."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.responses import Response

from looseleaf.web.answers import JSON, encoded
from looseleaf.web.calls import reception_of
from looseleaf.web.guard import OWN_POLICY
from looseleaf.web.openapi import document

if TYPE_CHECKING:
    from starlette.requests import Request

FOLDER = Path(__file__).parent / "static"
TYPES = {
    "docs.html": "text/html",
    "login.html": "text/html",
    "docs.js": "text/javascript",
    "login.js": "text/javascript",
    "style.css": "text/css",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)


@cache
def _file(name: str) -> bytes:
    return (FOLDER / name).read_bytes()


def _shown(request: Request, name: str) -> Response:
    request.scope[OWN_POLICY] = POLICY
    headers = {"content-security-policy": POLICY, "cross-origin-opener-policy": "same-origin"}
    return Response(_file(name), headers=headers, media_type=TYPES[name])


async def docs_page(request: Request) -> Response:
    """Give the page that lists every operation; it reads /openapi.json."""
    return _shown(request, "docs.html")


async def login_page(request: Request) -> Response:
    """Give the page that signs in; what a link carries after # never reaches a log."""
    return _shown(request, "login.html")


async def static_file(request: Request) -> Response:
    """Give one of the few files that our own pages need."""
    name = request.path_params["name"]
    if name not in TYPES or name.endswith(".html"):
        raise HTTPException(404)
    return _shown(request, name)


async def openapi(request: Request) -> Response:
    """Give the OpenAPI document."""
    state = request.app.state
    if not hasattr(state, "openapi"):
        context = reception_of(request).workspace.context
        state.openapi = encoded(document(context))
    return Response(state.openapi, media_type=JSON)
