"""Pages, history and search of shelves that lie in several stores, each shelf in one store."""

from __future__ import annotations

from looseleaf.errors.pages import HistoryMissing
from looseleaf.memory.history import PackedVersions, PageVerdict, has_history
from looseleaf.memory.scope import Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from looseleaf.memory.history import Blame, History, Revision
    from looseleaf.memory.scope import Shelf
    from looseleaf.memory.search.ranking import (
        Counts,
        Filter,
        Index,
        PageWords,
        PastFinder,
        RankedPage,
    )
    from looseleaf.memory.store import Change, Retention, Store


class Shelves:
    """The store of each shelf, which is picked once while the workspace is open.

    All pages of a shelf lie in one store, so that a list of them is complete.
    """

    def __init__(self, own_store: Store, history: History, pick: Callable[[Shelf], Store]) -> None:
        self.own_store, self.own_history, self.pick = own_store, history, pick
        self._stores: dict[Shelf, Store] = {}

    def store_for(self, place: Scope | Shelf) -> Store:
        """Return the store of a page or a shelf."""
        shelf = place.shelf if isinstance(place, Scope) else place
        store = self._stores.get(shelf)
        if store is None:
            store = self._stores[shelf] = self.pick(shelf)
        return store

    def history_for(self, place: Scope | Shelf) -> History | None:
        """Return the history that a shelf's store keeps, if it keeps one."""
        store = self.store_for(place)
        if store is self.own_store:
            return self.own_history
        return store.history if has_history(store) else None

    def is_own(self, shelf: Shelf) -> bool:
        """Return whether a shelf lies in our own store."""
        return self.store_for(shelf) is self.own_store


class HistoryByShelf:
    """The history of each page, from the store of its shelf, if that store keeps a history."""

    def __init__(
        self, history_for: Callable[[Scope | Shelf], History | None], own_history: History
    ) -> None:
        self.history_for = history_for
        self.own_history = own_history

    def revisions(self, scope: Scope) -> list[Revision]:
        """List the revisions of a page, oldest first."""
        return self._require_history(scope).revisions(scope)

    def latest(self, scope: Scope) -> Revision | None:
        """Return the newest revision of a page, or None if it is not known."""
        history = self.history_for(scope)
        return history.latest(scope) if history is not None else None

    def content(self, scope: Scope, number: int) -> bytes | None:
        """Read the bytes of one revision."""
        return self._require_history(scope).content(scope, number)

    def blame(self, scope: Scope, number: int | None = None) -> Blame:
        """Return a version of a page with the revision that brought each of its lines."""
        return self._require_history(scope).blame(scope, number)

    def purge(self, scope: Scope, number: int, *, change: Change) -> None:
        """Remove the content of one prior revision for good."""
        self._require_history(scope).purge(scope, number, change=change)

    def prune(self, shelf: Shelf, retention: Retention) -> int:
        """Drop the versions that a retention no longer keeps; return how many."""
        history = self.history_for(shelf)
        return history.prune(shelf, retention) if history is not None else 0

    def pack(self, scope: Scope, *, dry_run: bool = False) -> PackedVersions:
        """Compress the settled versions of a page."""
        history = self.history_for(scope)
        return history.pack(scope, dry_run=dry_run) if history is not None else PackedVersions()

    def pages(self, shelf: Shelf) -> list[str]:
        """Name every page of a shelf that has a history."""
        history = self.history_for(shelf)
        return history.pages(shelf) if history is not None else []

    def shelves(self) -> list[Shelf]:
        """List every shelf whose history lies in the workspace."""
        return self.own_history.shelves()

    def missing(self, shelf: Shelf) -> list[str]:
        """Name the pages of a shelf that had a history and have none now."""
        history = self.history_for(shelf)
        return history.missing(shelf) if history is not None else []

    def verify(self, scope: Scope, *, is_core: bool = False) -> PageVerdict:
        """Compare a page and each of its versions with the hashes that were written."""
        history = self.history_for(scope)
        return history.verify(scope, is_core=is_core) if history is not None else PageVerdict(0)

    def _require_history(self, scope: Scope) -> History:
        history = self.history_for(scope)
        if history is None:
            reason = "the store that a plugin picked for it keeps none"
            raise HistoryMissing(scope.filename, reason)
        return history


class IndexByShelf:
    """A search index for the shelves of our own store; other shelves are scanned."""

    def __init__(self, index: Index, is_own: Callable[[Shelf], bool]) -> None:
        self.index, self.is_own = index, is_own

    def matching(self, shelf: Shelf, prefix: str, folded_text: str) -> tuple[Counts, str] | None:
        """Count the lines with a folded text, by page below a folder; return how fresh that is."""
        return self.index.matching(shelf, prefix, folded_text) if self.is_own(shelf) else None

    def rank_pages(
        self,
        shelf: Shelf,
        terms: tuple[str, ...],
        limit: int,
        keep: Filter | None = None,
        beside: Sequence[PageWords] = (),
    ) -> list[RankedPage] | None:
        """Return the best pages for some terms, best first."""
        if not self.is_own(shelf):
            return None
        return self.index.rank_pages(shelf, terms, limit, keep, beside)

    def at(self, shelf: Shelf, moment: float) -> PastFinder | None:
        """Return a page finder for a moment in the past, or None if there is none."""
        return self.index.at(shelf, moment) if self.is_own(shelf) else None

    def forget(self, shelf: Shelf) -> None:
        """Drop the indexed texts of a shelf; the next search indexes them again."""
        self.index.forget(shelf)

    def verify(self, shelf: Shelf) -> list[str]:
        """List the differences between the file of an index and its pages."""
        return self.index.verify(shelf) if self.is_own(shelf) else []

    def close(self) -> None:
        """Close every file; the next search opens them again."""
        self.index.close()
