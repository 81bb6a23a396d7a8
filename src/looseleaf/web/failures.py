"""Attempts to sign in, counted before they are tried, so that nobody guesses for long."""

from __future__ import annotations

import time
from collections import deque

from looseleaf.web.problems import Problem

MOST = 20  # of one login from one address
MOST_OF_ADDRESS = MOST_OF_LOGIN = 100
SECONDS = 60.0
_KEYS = 10_000
_LONGEST = 200

Key = tuple[str, ...]


class Attempts:
    """Counts attempts of the last minute, by login and address, by login, and by address.

    A program that repeats one wrong password soon meets the narrowest bound. From then on it counts
    no more, so that the people behind the same address can still sign in.
    """

    def __init__(self) -> None:
        self._times: dict[Key, deque[float]] = {}
        self.total = 0  # that failed

    def take(self, address: str, login: str) -> None:
        """Count an attempt before it is tried, or refuse it."""
        for key, most in _bounds(address, login):
            self._check(key, most)
        for key, most in _bounds(address, login):
            self._add(key, most)

    def succeed(self, address: str, login: str) -> None:
        """Take the last attempt back: it was right."""
        for key, _ in _bounds(address, login):
            times = self._times.get(key)
            if times:
                times.pop()

    def fail(self) -> None:
        """Count a failure for the figures of the server."""
        self.total += 1

    def fail_credential(self, address: str, identity: str) -> None:
        """Count a token or session that is not known; others of the same address are free."""
        self.total += 1
        bounds = (
            (("credential", address, identity[:_LONGEST]), MOST),
            (("credentials", address), MOST_OF_ADDRESS),
        )
        for key, most in bounds:
            self._check(key, most)
        for key, most in bounds:
            self._add(key, most)

    def _add(self, key: Key, most: int) -> None:
        if len(self._times) >= _KEYS:
            self._drop_old()
        self._times.setdefault(key, deque(maxlen=most)).append(time.monotonic())

    def _check(self, key: Key, most: int) -> None:
        times = self._times.get(key)
        if times is None or len(times) < most:
            return
        wait = times[0] + SECONDS - time.monotonic()
        if wait > 0:
            seconds = int(wait) + 1
            message = f"Too many failed logins. Try again in {seconds} seconds."
            raise Problem(429, "too_many_failures", message, headers={"retry-after": str(seconds)})

    def _drop_old(self) -> None:
        """Make room: what is older than a minute goes, and else the half that is oldest."""
        since = time.monotonic() - SECONDS
        kept = {key: times for key, times in self._times.items() if times and times[-1] > since}
        if len(kept) >= _KEYS:
            newest = sorted(kept, key=lambda key: kept[key][-1])[_KEYS // 2 :]
            kept = {key: kept[key] for key in newest}
        self._times = kept


def _bounds(address: str, login: str) -> tuple[tuple[Key, int], ...]:
    name = login[:_LONGEST].lower()
    return (
        (("pair", address, name), MOST),
        (("address", address), MOST_OF_ADDRESS),
        (("login", name), MOST_OF_LOGIN),
    )
