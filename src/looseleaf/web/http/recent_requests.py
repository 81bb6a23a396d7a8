"""The last requests of this process, kept in memory for the admin site; their number is bounded."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from looseleaf.times import now
from looseleaf.web.http.request_id import request_id_of
from looseleaf.web.http.request_log import public_path_of

if TYPE_CHECKING:
    from starlette.types import Scope

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
