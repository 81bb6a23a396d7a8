"""Threads for requests that may take a while, so that other requests are read meanwhile."""

from __future__ import annotations

import threading
from queue import SimpleQueue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Work = Callable[[], None]

MOST_THREADS = 8
MOST_WAITING = 256  # requests; a further request is read only after one of them is done


class RequestThreads:
    """A few threads; a thread is started when all others are busy."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._free = threading.Semaphore(0)
        self._places = threading.BoundedSemaphore(MOST_WAITING)

    def submit(self, work: Work) -> None:
        """Hand work to the next free thread; `work` raises nothing."""
        self._places.acquire()
        if not self._free.acquire(blocking=False) and len(self._threads) < MOST_THREADS:
            thread = threading.Thread(target=self._run, daemon=True)
            self._threads.append(thread)
            thread.start()
        self._queue.put(work)

    def finish(self) -> None:
        """Wait until all submitted work is done."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while (work := self._queue.get()) is not None:
            try:
                work()
            finally:
                self._places.release()
                self._free.release()
