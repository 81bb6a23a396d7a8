"""The contract of a store: its methods, and the values that they take and return.

Expected outcomes (a missing page, a version that is no longer the present one) are values. A store
that cannot answer raises `Unavailable` from every method; it never returns `Missing`.
"""

from __future__ import annotations

from looseleaf.errors import Conflicted
from looseleaf.errors.pages import VersionRequired
from looseleaf.memory.provenance import UNKNOWN, Provenance
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol, TypeGuard

    from looseleaf.memory.scope import Scope, Shelf
else:
    Protocol = object

ABSENT = "absent"
"""As `if_match`: write only where there is no page yet."""
COMPOSE = "compose"  # the operation that writes generated pages
ANY_VERSION = "*"
"""In a `Precondition`: whatever version there is."""


def hash_content(content: bytes) -> str:
    """Return the version of a content: the sha256 of its exact bytes, in hex."""
    # Reading a page needs no hash, and hashlib costs a quarter of a cold start.
    import hashlib

    return hashlib.sha256(content).hexdigest()


class Found:
    """A page as it was read: its bytes, when they last changed, and their hash."""

    __slots__ = ("_hash", "content", "updated")

    def __init__(self, content: bytes, updated: float, hash: str = "") -> None:  # noqa: A002
        self.content = content
        self.updated = updated
        self._hash = hash

    @property
    def hash(self) -> str:
        """The version to name in `if_match`."""
        if not self._hash:
            self._hash = hash_content(self.content)
        return self._hash

    def __repr__(self) -> str:
        return f"Found({len(self.content)} bytes, {shorten_version(self.hash)})"


@value
class Missing:
    """There is no such page."""


@value
class Written:
    """The page now has these bytes, durably; `revision` is 0 if a store keeps no history."""

    hash: str
    bytes: int
    previous: str = ""
    revision: int = 0
    changed: bool = True


@value
class Deleted:
    """The page is gone; its last bytes were `previous`."""

    previous: str
    revision: int = 0


@value
class Conflict:
    """Nothing was done: the page is `actual` ("" if there is none), not `expected`."""

    expected: str
    actual: str


@value
class PageEntry:
    """One page of a listing; `updated` is seconds since 1970, UTC."""

    filename: str
    bytes: int
    updated: float


@value
class Precondition:
    """The versions of a page that a change may replace, as in the If-Match headers of HTTP."""

    match: tuple[str, ...] | None = None  # one of these
    none_match: tuple[str, ...] | None = None  # none of these
    is_short: bool = False  # whether `match` names versions by their short ids

    def holds(self, actual: str) -> bool:
        """Return whether a change may replace this version; "" means that there is no page."""
        present = shorten_version(actual) if self.is_short else actual
        if self.match is not None and not _matches_version(self.match, present):
            return False
        return self.none_match is None or not _matches_version(self.none_match, actual)

    @property
    def expected(self) -> str:
        """The expected versions, for an answer, or "" if the page must not exist."""
        parts = [*(self.match or ())]
        parts += [f"not {version}" for version in self.none_match or () if version != ANY_VERSION]
        return ", ".join(parts)


def _matches_version(versions: tuple[str, ...], actual: str) -> bool:
    return bool(actual) and (actual in versions or ANY_VERSION in versions)


def build_precondition(version: str) -> Precondition:
    """Return the condition that a page has this version, or does not exist (`ABSENT`).

    A version may be given by its short id.
    """
    if version == ABSENT:
        return Precondition(none_match=(ANY_VERSION,))
    return Precondition(match=(version,), is_short=len(version) == _SHORT)


_SHORT = 12  # digits; two versions of one page share them once in 10**14


def shorten_version(version: str) -> str:
    """Return the short id of a version; "" stays as it is."""
    return version[:_SHORT]


def name_version(filename: str, version: str) -> str:
    """Return the name of a page's version, for changes that move its lines to another page."""
    return f"{filename}@{version[:16]}"


@value
class Change:
    """An operation on a page and its provenance, which the history keeps beside the bytes.

    So is `moved_from`, the version of another page of the shelf that had the lines until now, as
    `MEMORY.md@` and the first digits of its hash. The other fields limit the change: which version
    it may replace, whether it must name that version, and whether it may take most of a page away.
    """

    operation: str = "write"
    provenance: Provenance = UNKNOWN
    precondition: Precondition | None = None
    must_name_version: bool = False
    allow_shrink: bool = False
    moved_from: str = ""


@value
class Capabilities:
    """What a store can do, so that callers ask for a capability and never for a class."""

    durable: bool = False  # the bytes survive a power cut once a write has returned
    history: bool = False  # it is a `StoreWithHistory` (memory/history.py)
    paths: bool = False  # it is a `StoreWithPaths`: its pages are files that people can open
    outside_edits: bool = False  # other programs may edit the pages directly
    agent_folders: bool = False  # an agent's pages lie in its folder, and move with it
    preconditions: bool = False  # `edit` itself refuses what a change's precondition forbids


@value
class Retention:
    """How long prior versions stay, counted from the moment they were replaced.

    A version is dropped when it was replaced more than `days` ago, or when more than `versions`
    newer ones exist and it was replaced more than `grace_days` ago: a burst of writes does not
    remove yesterday's text. The newest always stays. Only time that changes show counts (see
    `history.ShownTime`), so that a wrong clock makes no version old.
    """

    days: float = 90.0
    versions: int = 200
    grace_days: float = 1.0


class Store(Protocol):
    """A place for pages. Every method raises `Unavailable` when the store cannot answer."""

    @property
    def capabilities(self) -> Capabilities:
        """What the store can do."""

    def read(self, scope: Scope) -> Found | Missing:
        """Read a page; create nothing."""

    def exists(self, scope: Scope) -> bool:
        """Return whether there is such a page."""

    def write(
        self, scope: Scope, content: bytes, *, if_match: str | None = None, change: Change
    ) -> Written | Conflict:
        """Replace a page, or create it; with `if_match`, only that version (or `ABSENT`)."""

    def edit(
        self, scope: Scope, edit: Callable[[bytes | None], bytes], *, change: Change
    ) -> Written:
        """Replace a page by the result of `edit` on its bytes, with no writer in between."""

    def delete(
        self, scope: Scope, *, if_match: str | None = None, change: Change
    ) -> Deleted | Missing | Conflict:
        """Remove a page; with `if_match`, only that version."""

    def list_layer(self, shelf: Shelf) -> list[PageEntry]:
        """List the pages that stand directly on a shelf, by name."""

    def list_subtree(self, shelf: Shelf, prefix: str) -> list[PageEntry]:
        """List the pages below a folder of a shelf (all of them for ""), by full name."""


class StoreWithPaths(Store, Protocol):
    """An optional ability: every page is a file on this machine."""

    def path(self, scope: Scope) -> str:
        """Return the absolute path of a page's file, whether it exists or not."""


def has_paths(store: Store) -> TypeGuard[StoreWithPaths]:
    """Return whether the pages of a store are files on this machine."""
    return store.capabilities.paths


def with_version(change: Change, version: str | None) -> Change:
    """Limit a change to one version (or `ABSENT`); with None, it stays as it is."""
    if version is None:
        return change
    return replace(change, precondition=build_precondition(version))


def require_version(scope: Scope, change: Change) -> None:
    """Raise `VersionRequired` if a replacement must name a version and does not."""
    if change.must_name_version and change.precondition is None and change.operation != COMPOSE:
        raise VersionRequired(scope.filename)


def require_condition(scope: Scope, change: Change, actual: str) -> None:
    """Raise `Conflicted` if the change must not replace this version."""
    guard = change.precondition
    if guard is not None and not guard.holds(actual):
        raise Conflicted(scope.filename, guard.expected, actual)


def delete_version(store: Store, scope: Scope, change: Change) -> Deleted | Missing | Conflict:
    """Delete a page if the change may replace its present version."""
    if change.precondition is None:
        return store.delete(scope, change=change)
    while True:
        page = store.read(scope)
        actual = "" if isinstance(page, Missing) else page.hash
        if not change.precondition.holds(actual):
            return Conflict(change.precondition.expected, actual)
        if isinstance(page, Missing):
            return page
        outcome = store.delete(scope, if_match=actual, change=change)
        if not isinstance(outcome, Conflict):
            return outcome
