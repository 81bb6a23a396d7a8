"""The deadline of the work under way: loops that can be long check it, and end with an error."""

from __future__ import annotations

import math
import time
from contextvars import ContextVar

from looseleaf.errors import TookTooLong

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Outcome = TypeVar("Outcome")

# A server sets a deadline for each request; the command line, a job and Python have none.
_end: ContextVar[tuple[float, float]] = ContextVar("deadline", default=(math.inf, math.inf))
_is_over = False
_STEPS = 1000  # of a loop with short steps, between two looks at the clock


def run_within(seconds: float, work: Callable[[], Outcome]) -> Outcome:
    """Run work whose loops raise `TookTooLong` after some seconds."""
    token = _end.set((time.monotonic() + seconds, seconds))
    try:
        return work()
    finally:
        _end.reset(token)


def end_all_work() -> None:
    """Let all work with a deadline end now, since the process stops."""
    global _is_over  # noqa: PLW0603 - of the process
    _is_over = True


def check_deadline(step: int = 0) -> None:
    """Raise `TookTooLong` if the time is over; a loop with short steps passes their number."""
    if step % _STEPS:
        return
    end, seconds = _end.get()
    if time.monotonic() > end or (_is_over and end < math.inf):
        raise TookTooLong(seconds)
