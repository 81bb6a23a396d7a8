"""Scripts and styles of the admin site: read and compressed once, cached by browsers by version."""

from __future__ import annotations

import gzip
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from starlette.exceptions import HTTPException
from starlette.responses import Response

from looseleaf.web.http.guard import OWN_CACHING

if TYPE_CHECKING:
    from starlette.requests import Request

TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_LONG = "private, max-age=31536000, immutable"


class StaticFile(NamedTuple):
    """A file as it is sent."""

    media_type: str
    content: bytes
    gzip_content: bytes


@cache
def read_static_files() -> dict[str, StaticFile]:
    """Read every script and style of the package."""
    by_name = {}
    for path in files("looseleaf.web.admin").joinpath("static").iterdir():
        media_type = TYPES.get(path.name.rpartition(".")[2])
        if media_type:
            content = path.read_bytes()
            by_name[path.name] = StaticFile(media_type, content, gzip.compress(content, mtime=0))
    return by_name


@cache
def compute_version() -> str:
    """Hash all files, so that the version changes whenever a file does."""
    digest = sha256()
    for name, file in sorted(read_static_files().items()):
        digest.update(name.encode() + b"\0" + file.content)
    return digest.hexdigest()[:12]


async def show_static_file(request: Request) -> Response:
    """Return a script or a style; browsers may cache it under its version."""
    file = read_static_files().get(request.path_params["name"])
    if file is None:
        raise HTTPException(404)
    headers = {"vary": "accept-encoding"}
    if request.path_params.get("version") == compute_version():
        request.scope[OWN_CACHING] = headers["cache-control"] = _LONG
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["content-encoding"] = "gzip"
        return Response(file.gzip_content, headers=headers, media_type=file.media_type)
    return Response(file.content, headers=headers, media_type=file.media_type)
