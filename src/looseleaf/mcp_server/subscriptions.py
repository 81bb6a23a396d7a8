"""Who is told of which changes over one connection, in the ways of both protocols."""

from __future__ import annotations

import threading

from looseleaf.mcp_server.changes import (
    LIST,
    MOST_SUBSCRIPTIONS,
    MOST_URIS,
    SECONDS,
    WatchedPages,
)
from looseleaf.mcp_server.offer import INVALID_PARAMS, ProtocolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from looseleaf.mcp_server.changes import State

    Send = Callable[[dict[str, Any]], None]

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
UPDATED, LIST_CHANGED = "notifications/resources/updated", "notifications/resources/list_changed"


class Subscriptions:
    """Watches pages in a thread of its own, which runs while someone wants to hear of one."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._pages = WatchedPages()
        self._lock = threading.Lock()
        self._uris: set[str] = set()  # by resources/subscribe
        self._streams: dict[str | int, tuple[str, ...]] = {}  # by subscriptions/listen
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def subscribe(self, uri: str, state: State) -> None:
        """Tell of changes of one page from now on."""
        with self._lock:
            if uri in self._uris:
                return
            if len(self._uris) >= MOST_SUBSCRIPTIONS:
                raise ProtocolError(INVALID_PARAMS, f"At most {MOST_SUBSCRIPTIONS} subscriptions.")
            self._uris.add(uri)
        self._watch(uri, state)

    def unsubscribe(self, uri: str) -> None:
        """Tell no more of one page."""
        with self._lock:
            known = uri in self._uris
            self._uris.discard(uri)
        if known:
            self._pages.leave(uri)

    def listen(self, identity: str | int, states: dict[str, State]) -> None:
        """Tell of changes of several pages in one stream, until it is ended."""
        pages = [uri for uri in states if uri != LIST]
        with self._lock:
            if len(self._streams) >= MOST_SUBSCRIPTIONS:
                raise ProtocolError(INVALID_PARAMS, f"At most {MOST_SUBSCRIPTIONS} streams.")
        if len(pages) > MOST_URIS:
            raise ProtocolError(INVALID_PARAMS, f"At most {MOST_URIS} pages in one subscription.")
        for uri, state in states.items():
            self._watch(uri, state)
        honored = {
            **({"resourceSubscriptions": pages} if pages else {}),
            **({"resourcesListChanged": True} if LIST in states else {}),
        }
        about = {"_meta": {SUBSCRIPTION: identity}, "notifications": honored}
        self._notify("notifications/subscriptions/acknowledged", about)
        with self._lock:
            self._streams[identity] = tuple(states)

    def end(self, identity: str | int) -> None:
        """End a stream; nothing is said of it any more."""
        with self._lock:
            uris = self._streams.pop(identity, ())
        for uri in uris:
            self._pages.leave(uri)

    def close(self) -> None:
        """Stop looking."""
        self._ended.set()

    def _watch(self, uri: str, state: State) -> None:
        self._pages.watch(uri, state)
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._look_on, daemon=True)
                self._thread.start()

    def _look_on(self) -> None:
        while not self._ended.wait(SECONDS):
            for uri in self._pages.changed():
                self._tell(uri)

    def _tell(self, uri: str) -> None:
        with self._lock:
            streams = [one for one, uris in self._streams.items() if uri in uris]
            subscribed = uri in self._uris
        method = LIST_CHANGED if uri == LIST else UPDATED
        about = {} if uri == LIST else {"uri": uri}
        if subscribed:
            self._notify(method, about)
        for identity in streams:
            self._notify(method, {**about, "_meta": {SUBSCRIPTION: identity}})

    def _notify(self, method: str, params: dict[str, Any]) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})
