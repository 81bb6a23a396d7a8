"""Subscriptions to changes of pages over one connection, for both protocol generations."""

from __future__ import annotations

import threading
from queue import SimpleQueue

from looseleaf.mcp.methods import INVALID_PARAMS, ProtocolError
from looseleaf.mcp.page_changes import LIST, MOST_SUBSCRIPTIONS, MOST_URIS, SECONDS, WatchedPages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from looseleaf.mcp.page_changes import State

    Send = Callable[[dict[str, Any]], None]

    Work = Callable[[], None]


SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
UPDATED, LIST_CHANGED = "notifications/resources/updated", "notifications/resources/list_changed"


class Subscriptions:
    """Watches pages in a thread of its own, which starts with the first subscription."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._pages = WatchedPages()
        self._lock = threading.Lock()
        self._uris: set[str] = set()  # by resources/subscribe
        self._streams: dict[str | int, tuple[str, ...]] = {}  # by subscriptions/listen
        self._end_event = threading.Event()
        self._thread: threading.Thread | None = None

    def subscribe(self, uri: str, state: State) -> None:
        """Notify of changes of one page from now on."""
        with self._lock:
            if uri in self._uris:
                return
            if len(self._uris) >= MOST_SUBSCRIPTIONS:
                raise ProtocolError(INVALID_PARAMS, f"At most {MOST_SUBSCRIPTIONS} subscriptions.")
            self._uris.add(uri)
        self._watch(uri, state)

    def unsubscribe(self, uri: str) -> None:
        """Stop notifying of one page."""
        with self._lock:
            is_subscribed = uri in self._uris
            self._uris.discard(uri)
        if is_subscribed:
            self._pages.release(uri)

    def listen(self, identity: str | int, states: dict[str, State]) -> None:
        """Notify of changes of several pages in one stream, until the stream ends."""
        pages = [uri for uri in states if uri != LIST]
        with self._lock:
            if len(self._streams) >= MOST_SUBSCRIPTIONS:
                raise ProtocolError(INVALID_PARAMS, f"At most {MOST_SUBSCRIPTIONS} streams.")
        if len(pages) > MOST_URIS:
            raise ProtocolError(INVALID_PARAMS, f"At most {MOST_URIS} pages in one subscription.")
        for uri, state in states.items():
            self._watch(uri, state)
        accepted_filter = {
            **({"resourceSubscriptions": pages} if pages else {}),
            **({"resourcesListChanged": True} if LIST in states else {}),
        }
        params = {"_meta": {SUBSCRIPTION: identity}, "notifications": accepted_filter}
        self._notify("notifications/subscriptions/acknowledged", params)
        with self._lock:
            self._streams[identity] = tuple(states)

    def end(self, identity: str | int) -> None:
        """End a stream without a further notice."""
        with self._lock:
            uris = self._streams.pop(identity, ())
        for uri in uris:
            self._pages.release(uri)

    def close(self) -> None:
        """Stop checking."""
        self._end_event.set()

    def _watch(self, uri: str, state: State) -> None:
        self._pages.watch(uri, state)
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._check_forever, daemon=True)
                self._thread.start()

    def _check_forever(self) -> None:
        while not self._end_event.wait(SECONDS):
            for uri in self._pages.poll_changes():
                self._notify_subscribers(uri)

    def _notify_subscribers(self, uri: str) -> None:
        with self._lock:
            streams = [stream for stream, uris in self._streams.items() if uri in uris]
            is_subscribed = uri in self._uris
        method = LIST_CHANGED if uri == LIST else UPDATED
        params = {} if uri == LIST else {"uri": uri}
        if is_subscribed:
            self._notify(method, params)
        for identity in streams:
            self._notify(method, {**params, "_meta": {SUBSCRIPTION: identity}})

    def _notify(self, method: str, params: dict[str, Any]) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})


# Threads for requests that may take a while, so that other requests are read meanwhile.


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
