"""The pages that clients watch, and which of them have changed since the last check.

A check costs one `lstat` for each page. It detects every change, also by other programs, on every
store.
"""

from __future__ import annotations

from _thread import allocate_lock

from looseleaf.errors import LooseleafError
from looseleaf.mcp import methods
from looseleaf.memory.store import Missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.catalog.context import Context

    State = Callable[[], object]

SECONDS = 0.5  # between two checks
MOST_SUBSCRIPTIONS = 1000
MOST_URIS = 100  # in one request
LIST = ""  # stands for the list of pages, in place of an address


class WatchedPages:
    """The watched addresses, each with its last state."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._states: dict[str, tuple[State, object]] = {}
        self._count: dict[str, int] = {}

    def watch(self, uri: str, state: State) -> None:
        """Watch an address; it must be released as often as it was watched."""
        with self._lock:
            self._count[uri] = self._count.get(uri, 0) + 1
            is_watched = uri in self._states
        if not is_watched:
            current = _read_state(state)
            with self._lock:
                self._states.setdefault(uri, (state, current))

    def release(self, uri: str) -> None:
        """Release an address once; after the last release it is no longer watched."""
        with self._lock:
            self._count[uri] = self._count.get(uri, 0) - 1
            if self._count[uri] <= 0:
                self._count.pop(uri)
                self._states.pop(uri, None)

    def poll_changes(self) -> list[str]:
        """Check every address, and list those whose state has changed."""
        with self._lock:
            states = dict(self._states)
        uris = []
        for uri, (state, old_state) in states.items():
            current = _read_state(state)
            with self._lock:
                if current != old_state and self._states.get(uri) == (state, old_state):
                    self._states[uri] = (state, current)
                    uris.append(uri)
        return uris


def _read_state(state: State) -> object:
    try:
        return state()
    except LooseleafError as error:
        return error.code


def state_of_page(context: Context, uri: str) -> State:
    """Return a function that reads the hash of a page; the client must have the right to read."""
    scope = methods.resolve_scope(context, uri)

    def read_hash() -> object:
        page = context.pages.read(scope)
        return "" if isinstance(page, Missing) else page.hash

    return read_hash


def state_of_list(context: Callable[[], Context]) -> State:
    """Return a function that identifies the list of pages."""
    return lambda: [resource["uri"] for resource in methods.list_resources(context())[0]]
