"""A limit on attempts to sign in, which are counted before they are checked."""

from __future__ import annotations

import time
from collections import deque

from looseleaf.web.http.request_errors import RequestError

MOST = 20  # of one login from one address
MOST_OF_ADDRESS = MOST_OF_LOGIN = 100
SECONDS = 60.0
_KEYS = 10_000
_MAX_LENGTH = 200

Key = tuple[str, ...]


class Attempts:
    """Counts attempts of the last minute, by login and address, by login, and by address.

    A program that repeats one wrong password soon reaches the narrowest limit. Its further attempts
    are not counted, so that other people behind the same address can still sign in.
    """

    def __init__(self) -> None:
        self._times: dict[Key, deque[float]] = {}
        self.total = 0  # failed attempts

    def take(self, address: str, login: str) -> None:
        """Count an attempt before it is checked, or refuse it."""
        for key, limit in _list_bounds(address, login):
            self._check(key, limit)
        for key, limit in _list_bounds(address, login):
            self._add(key, limit)

    def succeed(self, address: str, login: str) -> None:
        """Remove the last attempt: it succeeded."""
        for key, _ in _list_bounds(address, login):
            times = self._times.get(key)
            if times:
                times.pop()

    def fail(self) -> None:
        """Count a failure for the figures of the server."""
        self.total += 1

    def fail_credential(self, address: str, identity: str) -> None:
        """Count an unknown token or session, apart from other credentials of the same address."""
        self.total += 1
        bounds = (
            (("credential", address, identity[:_MAX_LENGTH]), MOST),
            (("credentials", address), MOST_OF_ADDRESS),
        )
        for key, limit in bounds:
            self._check(key, limit)
        for key, limit in bounds:
            self._add(key, limit)

    def _add(self, key: Key, limit: int) -> None:
        if len(self._times) >= _KEYS:
            self._drop_old()
        self._times.setdefault(key, deque(maxlen=limit)).append(time.monotonic())

    def _check(self, key: Key, limit: int) -> None:
        times = self._times.get(key)
        if times is None or len(times) < limit:
            return
        wait = times[0] + SECONDS - time.monotonic()
        if wait > 0:
            seconds = int(wait) + 1
            message = f"Too many failed logins. Try again in {seconds} seconds."
            raise RequestError(
                429, "too_many_failures", message, headers={"retry-after": str(seconds)}
            )

    def _drop_old(self) -> None:
        """Remove entries older than a minute, or else the oldest half."""
        since = time.monotonic() - SECONDS
        recent_times = {
            key: times for key, times in self._times.items() if times and times[-1] > since
        }
        if len(recent_times) >= _KEYS:
            newest = sorted(recent_times, key=lambda key: recent_times[key][-1])[_KEYS // 2 :]
            recent_times = {key: recent_times[key] for key in newest}
        self._times = recent_times


def _list_bounds(address: str, login: str) -> tuple[tuple[Key, int], ...]:
    name = login[:_MAX_LENGTH].lower()
    return (
        (("pair", address, name), MOST),
        (("address", address), MOST_OF_ADDRESS),
        (("login", name), MOST_OF_LOGIN),
    )
