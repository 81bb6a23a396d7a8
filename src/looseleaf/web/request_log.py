"""One line for each request that was answered: for people on a terminal, as JSON elsewhere."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Scope

LOGGER = logging.getLogger("looseleaf.requests")
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
    now = datetime.now(UTC)
    client = scope.get("client")
    path = scope["path"][:_MOST_PATH]
    if sys.stdout.isatty():
        # repr escapes whatever a terminal would obey.
        line = f"{now:%H:%M:%S} {status or '---'} {scope['method']:<6} {repr(path)[1:-1]}"
        LOGGER.info("%s", f"{line} {seconds * 1000:.1f} ms")
        return
    entry = {
        "time": f"{now:%Y-%m-%dT%H:%M:%S.%fZ}",
        "method": scope["method"],
        "path": path,
        "status": status,
        "milliseconds": round(seconds * 1000, 3),
        "client": client[0] if client else "",
    }
    LOGGER.info("%s", json.dumps(entry))
