"""Models of providers: answers as streams, and retries if a provider is busy."""

from __future__ import annotations

import asyncio
import random
import re
import threading
from queue import Empty, SimpleQueue

from looseleaf.errors.operations import ModelFailed
from looseleaf.models.model import Retry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
    from typing import Any, Protocol, TypeVar

    from looseleaf.models.model import Answer, Delta, Question
    from looseleaf.values import Secret

    Item = TypeVar("Item")
else:
    Protocol = object


NO_KEY = "the provider does not accept the key"
NO_ANSWER = "the provider cannot be reached, or does not answer in time"
_LONGEST_WAIT = 60.0
_FIRST_WAIT = 0.5
_MOST_CHARACTERS = 300
_SECRET = re.compile(
    r"[A-Za-z0-9_\-*.]{20,}"
)  # keys are long words, and few other words are so long


class ProviderFailure(Exception):
    """A provider gave no answer; after a temporary failure it can be asked again in `seconds`."""

    def __init__(
        self, reason: str, *, is_temporary: bool = False, seconds: float | None = None
    ) -> None:
        super().__init__(reason)
        self.reason, self.is_temporary, self.seconds = reason, is_temporary, seconds


class ModelConnection(Protocol):
    """The connection to one model of a provider."""

    def ask(self, question: Question) -> AsyncIterator[Delta | Answer]:
        """Send a request: yield the answer in parts, then whole, or raise `ProviderFailure`."""


class RetryingModel:
    """A model that is asked again if its provider is busy."""

    def __init__(
        self,
        name: str,
        connection: ModelConnection,
        loop_thread: LoopThread,
        *,
        retries: int = 2,
        key: Secret | None = None,
    ) -> None:
        self.name = name
        self._connection, self._loop_thread = connection, loop_thread
        self._retries, self._key = retries, key

    def ask(
        self, question: Question, should_stop: Callable[[], bool]
    ) -> Iterator[Delta | Retry | Answer]:
        """Query the provider, again if it is busy, and yield its answer as it comes."""
        return self._loop_thread.stream(self._ask_with_retries(question), should_stop)

    async def _ask_with_retries(self, question: Question) -> AsyncIterator[Delta | Retry | Answer]:
        for attempt in range(self._retries + 1):
            has_begun = False
            try:
                async for part in self._connection.ask(question):
                    has_begun = True
                    yield part
            except ProviderFailure as refusal:
                reason = self._without_key(refusal.reason)
                # If a part of the answer was shown, the provider is not asked again.
                if not refusal.is_temporary or has_begun or attempt == self._retries:
                    # Without the cause, which may contain the request and with it the key.
                    raise ModelFailed(self.name, reason) from None
                retry = Retry(attempt + 1, _choose_wait(refusal, attempt), reason)
            else:
                return
            yield retry
            await asyncio.sleep(retry.seconds)

    def _without_key(self, text: str) -> str:
        return text.replace(self._key.reveal(), "…") if self._key is not None else text


def _choose_wait(refusal: ProviderFailure, attempt: int) -> float:
    """Choose the time to wait: as the provider says, up to a limit, else longer each time."""
    if refusal.seconds is not None:
        return min(max(refusal.seconds, 0.0), _LONGEST_WAIT)
    return _FIRST_WAIT * float(2**attempt) * (1 + random.random() / 4)  # noqa: S311 - no secret


def describe_failure(status: int | None, message: str) -> str:
    """Describe a failure in one line, by the provider's message, without possible secrets."""
    line = " ".join(_SECRET.sub("…", message).split())[:_MOST_CHARACTERS]
    return ": ".join(part for part in (f"status {status}" if status else "", line) if part)


def extract_message(body: object) -> str:
    """Find the message in the body of a provider's error."""
    if isinstance(body, dict):
        inner = body.get("error", body)
        message = inner.get("message") if isinstance(inner, dict) else inner
        return message if isinstance(message, str) else ""
    return body if isinstance(body, str) else ""


# An event loop in a thread of its own, for synchronous code that uses an asynchronous library.


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
