"""Failed logins, counted by address, so that nobody guesses for long."""

from __future__ import annotations

import time
from collections import deque

from looseleaf.web.problems import Problem

MOST = 20
SECONDS = 60.0
_ADDRESSES = 10_000


class Failures:
    """Counts failures of the last minute by address."""

    def __init__(self) -> None:
        self._times: dict[str, deque[float]] = {}
        self.total = 0

    def add(self, address: str) -> None:
        """Count one more."""
        self.total += 1
        if len(self._times) >= _ADDRESSES:
            self._drop_old()
        self._times.setdefault(address, deque(maxlen=MOST)).append(time.monotonic())

    def check(self, address: str) -> None:
        """Refuse an address that has failed too often of late."""
        times = self._times.get(address)
        if times is None or len(times) < MOST:
            return
        wait = times[0] + SECONDS - time.monotonic()
        if wait > 0:
            seconds = int(wait) + 1
            message = f"Too many failed logins. Try again in {seconds} seconds."
            raise Problem(429, "too_many_failures", message, headers={"retry-after": str(seconds)})

    def _drop_old(self) -> None:
        since = time.monotonic() - SECONDS
        self._times = {
            address: times for address, times in self._times.items() if times[-1] > since
        }
        if len(self._times) >= _ADDRESSES:
            self._times.clear()
