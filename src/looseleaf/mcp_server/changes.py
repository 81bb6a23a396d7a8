"""Which pages clients have asked to hear of, and which of them have changed since the last look.

Looking costs one `lstat` a page. It sees every change, also by programs that know nothing of us, on
every store.
"""

from __future__ import annotations

from _thread import allocate_lock

from looseleaf.errors import LooseleafError
from looseleaf.mcp_server import resources
from looseleaf.memory.store import Missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.operations.context import Context

    State = Callable[[], object]

SECONDS = 0.5  # between two looks
MOST_SUBSCRIPTIONS = 1000
MOST_URIS = 100  # that one request may ask to hear of
LIST = ""  # in the place of an address: the list of pages


class WatchedPages:
    """The addresses that are watched, each with the state it was last seen in."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._seen: dict[str, tuple[State, object]] = {}
        self._count: dict[str, int] = {}

    def watch(self, uri: str, state: State) -> None:
        """Watch an address until it is left as often as it was watched."""
        with self._lock:
            self._count[uri] = self._count.get(uri, 0) + 1
            known = uri in self._seen
        if not known:
            current = _look(state)
            with self._lock:
                self._seen.setdefault(uri, (state, current))

    def leave(self, uri: str) -> None:
        """Stop watching an address that was watched once."""
        with self._lock:
            self._count[uri] = self._count.get(uri, 0) - 1
            if self._count[uri] <= 0:
                self._count.pop(uri)
                self._seen.pop(uri, None)

    def changed(self) -> list[str]:
        """Look at every address, and give those that are no longer as they were."""
        with self._lock:
            before = dict(self._seen)
        changed = []
        for uri, (state, last) in before.items():
            current = _look(state)
            with self._lock:
                if current != last and self._seen.get(uri) == (state, last):
                    self._seen[uri] = (state, current)
                    changed.append(uri)
        return changed


def _look(state: State) -> object:
    try:
        return state()
    except LooseleafError as error:
        return error.code


def state_of_page(context: Context, uri: str) -> State:
    """Give what tells the versions of a page apart, if one may read it."""
    scope = resources.scope_at(context, uri)

    def state() -> object:
        page = context.pages.read(scope)
        return "" if isinstance(page, Missing) else page.hash

    return state


def state_of_list(context: Callable[[], Context]) -> State:
    """Give what tells two lists of pages apart."""
    return lambda: [one["uri"] for one in resources.listed(context())[0]]
