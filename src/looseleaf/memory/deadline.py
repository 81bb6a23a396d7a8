"""The deadline of the work under way: loops that can be long check it, and end with an error."""

from __future__ import annotations

import math
import time
from threading import local

from looseleaf.errors import TookTooLong

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Outcome = TypeVar("Outcome")


class _Work(local):
    """The end of the work of a thread, and after how many seconds it comes.

    A server sets a deadline for each request; the command line, a job and Python have none.
    """

    end = seconds = math.inf


_work = _Work()
_is_over = False
_STEPS = 1000  # of a loop with short steps, between two looks at the clock


def run_within(seconds: float, work: Callable[[], Outcome]) -> Outcome:
    """Run work in this thread whose loops raise `TookTooLong` after some seconds."""
    before = _work.end, _work.seconds
    _work.end, _work.seconds = time.monotonic() + seconds, seconds
    try:
        return work()
    finally:
        _work.end, _work.seconds = before


def end_all_work() -> None:
    """Let all work with a deadline end now, since the process stops."""
    global _is_over  # noqa: PLW0603 - of the process
    _is_over = True


def check_deadline(step: int = 0) -> None:
    """Raise `TookTooLong` if the time is over; a loop with short steps passes their number."""
    if step % _STEPS:
        return
    if time.monotonic() > _work.end or (_is_over and _work.end < math.inf):
        raise TookTooLong(_work.seconds)
