"""Dead workers: found at once by a lock on the same machine, and elsewhere by a timeout."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from looseleaf.workflows.execution.queue import Workers
else:
    Protocol = object


class HeldLock(Protocol):
    """A lock that ends with its process."""

    def close(self) -> None:
        """Release the lock."""


class LifeLocks(Protocol):
    """Locks that tell at once when a worker on the same machine has died."""

    def hold(self, name: str) -> HeldLock:
        """Hold the lock of a worker until it stops."""

    def is_free(self, name: str) -> bool | None:
        """Return whether a worker has died, or None if it does not run on this machine."""

    def remove(self, name: str) -> None:
        """Discard the lock of a dead worker."""


class DeathWatch:
    """Finds the workers that died.

    The number of a worker's signs of life is compared with the number seen before, and the time
    between is measured by the steady clock of this process, so that the clocks of machines may
    differ or jump.
    """

    def __init__(
        self,
        workers: Workers,
        locks: LifeLocks,
        silent_seconds: float,
        *,
        steady_clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._workers, self._locks = workers, locks
        self._silent_seconds, self._steady_clock = silent_seconds, steady_clock
        self._last_beats: dict[str, tuple[int, float]] = {}  # and when they last changed

    def find(self, own_id: str) -> tuple[str, ...]:
        """Name the workers that died, except this one."""
        now = self._steady_clock()
        beats = self._workers.beats()
        self._last_beats = {name: last for name, last in self._last_beats.items() if name in beats}
        dead_workers = []
        for name, count in beats.items():
            if name == own_id:
                continue
            is_free = self._locks.is_free(name)
            last_count, since = self._last_beats.get(name, (-1, now))
            if count != last_count:
                self._last_beats[name] = (count, now)
            elif is_free is None and now - since > self._silent_seconds:
                dead_workers.append(name)
            if is_free:
                dead_workers.append(name)
        return tuple(dead_workers)
