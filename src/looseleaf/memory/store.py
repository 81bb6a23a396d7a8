"""The contract between memory and where it lies: what a store is asked, and what it answers.

Outcomes one expects (a missing page, a version that has moved on) are values. A store that cannot
answer raises `Unavailable` from every method; it never says "missing".
"""

from __future__ import annotations

from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from looseleaf.memory.scope import Scope, Shelf
else:
    Protocol = object

ABSENT = "absent"
"""As `if_match`: write only where there is no page yet."""


def content_hash(content: bytes) -> str:
    """Give the version of these bytes: the sha256 of exactly them, in hex."""
    # Reading a page needs no hash, and hashlib costs a quarter of a cold start.
    import hashlib

    return hashlib.sha256(content).hexdigest()


class Found:
    """A page as it was read: its bytes, when they last changed, and their hash when asked."""

    __slots__ = ("_hash", "content", "updated")

    def __init__(self, content: bytes, updated: float, hash: str = "") -> None:  # noqa: A002
        self.content = content
        self.updated = updated
        self._hash = hash

    @property
    def hash(self) -> str:
        """The version to name in `if_match`."""
        if not self._hash:
            self._hash = content_hash(self.content)
        return self._hash

    def __repr__(self) -> str:
        return f"Found({len(self.content)} bytes, {self.hash[:12]})"


@value
class Missing:
    """There is no such page."""


@value
class Written:
    """The page now has these bytes, durably; `revision` is 0 where a store keeps no history."""

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
    """Nothing was done: the page is `actual` ("" where there is none), not `expected`."""

    expected: str
    actual: str


@value
class Entry:
    """One page of a listing; `updated` is seconds since 1970, UTC."""

    filename: str
    bytes: int
    updated: float


@value
class Change:
    """Who changes a page, through which surface, and why: what history keeps beside the bytes."""

    operation: str = "write"
    actor: str = ""
    surface: str = "library"
    reason: str = ""


@value
class Capabilities:
    """What a store can do, so that callers ask for a capability and never for a class."""

    durable: bool = False  # an answer means the bytes survive a power cut
    history: bool = False  # prior bytes are kept and can be read again
    outside_edits: bool = False  # people may edit the pages behind the store's back


class Store(Protocol):
    """Where pages lie. Every method raises `Unavailable` when the store cannot answer."""

    capabilities: Capabilities

    def read(self, scope: Scope) -> Found | Missing:
        """Read a page; create nothing."""

    def exists(self, scope: Scope) -> bool:
        """Say whether there is such a page."""

    def write(
        self, scope: Scope, content: bytes, *, if_match: str | None = None, change: Change
    ) -> Written | Conflict:
        """Replace a page, or create it; with `if_match`, only that version (or `ABSENT`)."""

    def edit(
        self, scope: Scope, edit: Callable[[bytes | None], bytes], *, change: Change
    ) -> Written:
        """Replace a page by what `edit` makes of its current bytes, with no writer in between."""

    def delete(
        self, scope: Scope, *, if_match: str | None = None, change: Change
    ) -> Deleted | Missing | Conflict:
        """Remove a page; with `if_match`, only that version."""

    def list_layer(self, shelf: Shelf) -> list[Entry]:
        """List the pages that stand directly on a shelf, by name."""

    def list_subtree(self, shelf: Shelf, prefix: str) -> list[Entry]:
        """List the pages below a folder of a shelf (all of them for ""), by full name."""
