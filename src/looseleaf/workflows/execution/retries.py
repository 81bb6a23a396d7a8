"""Failures that pass by themselves, and how long a job waits before the next attempt."""

from __future__ import annotations

import re

from looseleaf.errors import Locked, LooseleafError, TooBusy, Unavailable

MOST_ATTEMPTS = 3
_FIRST_WAIT, _FIRST_TRANSPORT_WAIT, _LONGEST_WAIT = 60.0, 15.0, 3_600.0
_PASSING = re.compile(
    r"timeout|timed out|in time|\b429\b|rate limit|\b50[234]\b|overloaded|temporar|try again"
    r"|throttl|connect|cannot be reached|reset by peer|name resolution",
    re.IGNORECASE,
)
_TRANSPORT = re.compile(
    r"connect|cannot be reached|reset by peer|name resolution|transport", re.IGNORECASE
)
_RETRY_AFTER = re.compile(r"retry[- ]after:? (\d{1,6})", re.IGNORECASE)


def is_transient(error: Exception) -> bool:
    """Return whether a failure is likely to be gone at a later attempt."""
    if isinstance(error, Locked | TooBusy):
        return True
    return isinstance(error, Unavailable) and has_transient_reason(str(error))


def has_transient_reason(reason: str) -> bool:
    """Return whether the reason of a failure is one that passes by itself."""
    return _PASSING.search(reason) is not None


def compute_wait_seconds(reason: str, attempts: int) -> float | None:
    """Return the seconds until the next attempt, or None after the last one.

    `attempts` is the number of attempts before the one that failed now.
    """
    if attempts + 1 >= MOST_ATTEMPTS:
        return None
    first = _FIRST_TRANSPORT_WAIT if _TRANSPORT.search(reason) else _FIRST_WAIT
    server_wait = _RETRY_AFTER.search(reason)
    wait = max(first * 2.0**attempts, float(server_wait[1]) if server_wait else 0.0)
    return float(min(wait, _LONGEST_WAIT))


def describe_error(error: Exception) -> str:
    """Return the reason of a failure in one line; an unexpected error is named by its class."""
    text = str(error).partition("\n")[0].strip()
    if isinstance(error, LooseleafError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
