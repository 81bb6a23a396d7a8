"""One line for each request that was answered: for people on a terminal, as JSON elsewhere."""

from __future__ import annotations

import json
import logging
import sys
from typing import TYPE_CHECKING

from looseleaf.times import format_clock, format_microseconds, now
from looseleaf.web.http.request_id import request_id_of

if TYPE_CHECKING:
    from starlette.types import Scope

LOGGER = logging.getLogger("looseleaf.requests")
ONE_TIME = "/webhooks/"  # addresses that end in a secret
_MOST_PATH = 500  # characters of an address that a line shows


def enable() -> None:
    """Write the lines of this process to its standard output."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logging.Formatter("%(message)s"))
    LOGGER.handlers = [handler]
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False


def write(scope: Scope, status: int, seconds: float) -> None:
    """Write the line of a request; status 0 is one that was given up. Queries are left out."""
    if not LOGGER.isEnabledFor(logging.INFO):
        return
    moment = now()
    client = scope.get("client")
    path = path_for_people(scope)[:_MOST_PATH]
    if sys.stdout.isatty():
        # repr escapes whatever a terminal would obey.
        line = f"{format_clock(moment)} {status or '---'} {scope['method']:<6} {repr(path)[1:-1]}"
        LOGGER.info("%s", f"{line} {seconds * 1000:.1f} ms")
        return
    entry = {
        "time": format_microseconds(moment),
        "method": scope["method"],
        "path": path,
        "status": status,
        "milliseconds": round(seconds * 1000, 3),
        "client": client[0] if client else "",
        "request": request_id_of(scope),
    }
    LOGGER.info("%s", json.dumps(entry))


def path_for_people(scope: Scope) -> str:
    """Return the path of a request, without the secret of a one-time address."""
    path: str = scope["path"]
    if ONE_TIME not in path:
        return path
    return f"{path.rpartition('/')[0]}/…"
