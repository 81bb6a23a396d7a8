"""The line of the log for each request that was answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.web import server_log
from looseleaf.web.http.request_id import request_id_of

if TYPE_CHECKING:
    from starlette.types import Scope

ONE_TIME = "/webhooks/"  # addresses that end in a secret
_MOST_PATH = 500  # characters of an address that a line shows


def write(scope: Scope, status: int, seconds: float) -> None:
    """Write the line of a request, without its query; status 0 is a request that was aborted."""
    if not server_log.is_enabled():
        return
    client = scope.get("client")
    path = public_path_of(scope)[:_MOST_PATH]
    entry = {
        "method": scope["method"],
        "path": path,
        "status": status,
        "milliseconds": round(seconds * 1000, 3),
        "client": client[0] if client else "",
        "request": request_id_of(scope),
    }
    # repr escapes control characters, which a terminal would obey.
    text = f"{status or '---'} {scope['method']:<6} {repr(path)[1:-1]} {seconds * 1000:.1f} ms"
    server_log.write_line(entry, text)


def public_path_of(scope: Scope) -> str:
    """Return the path of a request, without the secret of a one-time address."""
    path: str = scope["path"]
    if ONE_TIME not in path:
        return path
    return f"{path.rpartition('/')[0]}/…"
