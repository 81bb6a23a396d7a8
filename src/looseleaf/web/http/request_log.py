"""The log of requests: the id and the line of each, and the last ones for the admin site."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections import deque
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from looseleaf.memory.provenance import REQUEST, Activity, is_activity_id
from looseleaf.times import format_clock, format_microseconds, now

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Scope


# The id of a request: the one that its client sent, else one that the server creates.


HEADER = b"x-request-id"
_REQUEST_ID = "looseleaf.request_id"  # the key of the id in a scope


class RequestIds:
    """Gives ids to the requests of one process; no other process gives the same id."""

    def __init__(self) -> None:
        self._prefix, self._numbers = os.urandom(8).hex(), count(1)

    def identify(self, scope: Scope, headers: Mapping[bytes, bytes]) -> bytes:
        """Store the id of a request in its scope, and return the id as a header of the answer."""
        header = headers.get(HEADER)
        if header is not None:
            text = header.decode("latin-1")
            if is_activity_id(text):
                scope[_REQUEST_ID] = text
                return header
        text = scope[_REQUEST_ID] = f"{self._prefix}-{next(self._numbers)}"
        return text.encode("ascii")


def request_id_of(scope: Scope) -> str:
    """Return the id of a request."""
    identity: str = scope[_REQUEST_ID]
    return identity


def activity_of(scope: Scope) -> Activity:
    """Return a request as the activity that its changes belong to."""
    return Activity(REQUEST, request_id_of(scope))


# The log of a server: one line for each event, for people on a terminal, as JSON elsewhere.


LOGGER = logging.getLogger("looseleaf.log")


def enable() -> None:
    """Write the lines of this process to its standard output."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logging.Formatter("%(message)s"))
    LOGGER.handlers = [handler]
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False


def is_enabled() -> bool:
    """Return whether lines are written."""
    return LOGGER.isEnabledFor(logging.INFO)


def write_line(entry: Mapping[str, object], text: str) -> None:
    """Write an entry with the present time: as a text on a terminal, its fields elsewhere."""
    moment = now()
    if sys.stdout.isatty():
        LOGGER.info("%s", f"{format_clock(moment)} {text}")
    else:
        LOGGER.info("%s", json.dumps({"time": format_microseconds(moment), **entry}))


ONE_TIME = "/webhooks/"  # addresses with a secret behind it
_PUBLIC = re.compile(r"gate|\d{0,10}")  # the other parts of such an address
_MOST_PATH = 500  # characters of an address that a line shows


def write(scope: Scope, status: int, seconds: float) -> None:
    """Write the line of a request, without its query; status 0 is a request that was aborted."""
    if not is_enabled():
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
    write_line(entry, text)


def public_path_of(scope: Scope) -> str:
    """Return the path of a request, without the secret of a one-time address.

    A request that was mistyped must not show the secret, either, so every part behind the beginning
    is hidden that is not known to be public.
    """
    path: str = scope["path"]
    start = path.lower().find(ONE_TIME)
    if start < 0:
        return path
    start += len(ONE_TIME)
    parts = path[start:].split("/")
    return path[:start] + "/".join(part if _PUBLIC.fullmatch(part) else "…" for part in parts)


# The last requests of this process, kept in memory for the admin site; their number is bounded.


MOST_PATH = 200  # characters of an address that are kept


class RecentRequest(NamedTuple):
    """One request; status 0 is a request that was aborted."""

    time: float
    method: str
    path: str  # without the query, which may contain search words
    status: int
    seconds: float
    request_id: str


class RecentRequests:
    """The newest requests; beyond the capacity, each request replaces the oldest one."""

    def __init__(self, capacity: int = 500) -> None:
        self.capacity = capacity
        self._entries: deque[tuple[float, str, str, int, float, str]] = deque(maxlen=capacity)

    def add(self, scope: Scope, status: int, seconds: float) -> None:
        """Keep one request."""
        path, request_id = public_path_of(scope)[:MOST_PATH], request_id_of(scope)
        # A plain tuple: every request passes here, and few are ever looked at.
        self._entries.append((now(), scope["method"], path, status, seconds, request_id))

    def newest_first(self) -> list[RecentRequest]:
        """List the kept requests."""
        return [RecentRequest(*entry) for entry in reversed(self._entries.copy())]
