"""An event loop in a thread of its own, for synchronous code that uses an asynchronous library."""

from __future__ import annotations

import asyncio
import threading
from queue import Empty, SimpleQueue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
    from typing import Any, TypeVar

    Item = TypeVar("Item")

_LOOK = 0.2  # seconds between two checks whether to stop


class LoopThread:
    """One event loop in a thread of its own, in which every request of a workspace runs.

    The connections of a provider's client belong to one loop, so all requests run in the same
    loop; hundreds of slow answers need no thread of their own there.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def stream(self, items: AsyncIterator[Item], should_stop: Callable[[], bool]) -> Iterator[Item]:
        """Yield the items as they come, until the last item or until `should_stop` returns True."""
        inbox: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        task = asyncio.run_coroutine_threadsafe(_pump(items, inbox), self._start_loop())
        try:
            while True:
                try:
                    kind, item = inbox.get(timeout=_LOOK)
                except Empty:
                    if should_stop():
                        return
                    continue
                if kind == "end":
                    return
                if kind == "error":
                    raise item
                yield item
                if should_stop():
                    return
        finally:
            task.cancel()

    def run(self, work: Coroutine[Any, Any, Item]) -> Item:
        """Run a coroutine in the loop, and wait for its result."""
        return asyncio.run_coroutine_threadsafe(work, self._start_loop()).result()

    def close(self) -> None:
        """Stop the loop, and cancel the tasks that still run in it."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _start_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_keep_running, args=(self._loop,), name="looseleaf-models", daemon=True
                )
                self._thread.start()
            return self._loop


def _keep_running(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())


async def _pump(items: AsyncIterator[Item], inbox: SimpleQueue[tuple[str, Any]]) -> None:
    try:
        async for item in items:
            inbox.put(("item", item))
    except Exception as error:  # noqa: BLE001 - it is raised again in the synchronous code
        inbox.put(("error", error))
    else:
        inbox.put(("end", None))
    finally:
        close = getattr(items, "aclose", None)
        if close is not None:
            await close()
