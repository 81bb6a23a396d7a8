"""The search index: results from SQLite and memory that always agree with the pages.

Each query first finds the changed pages, then updates the index, then searches it. If the index
cannot be sure of its result, it returns None, and the caller reads the pages instead.
"""

from __future__ import annotations

import os
import sqlite3
import threading

from looseleaf.errors import LooseleafError
from looseleaf.stores.index.file_states import Tree, holds_at_least
from looseleaf.stores.index.file_watch import is_local
from looseleaf.stores.index.index_file import IN_MEMORY, IndexFile, remove, supports_full_text
from looseleaf.stores.index.past_search import PastSearch
from looseleaf.stores.index.shelf_index import IndexUnreliable, MemoryBudget, ShelfIndex
from looseleaf.stores.index.verification import verify_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from looseleaf.memory.scope import Shelf
    from looseleaf.memory.search.ranked import Counts
    from looseleaf.memory.search.ranking import Filter, RankedPage
    from looseleaf.stores.index.past_versions import VersionHistory
    from looseleaf.stores.index.shelf_index import DiskPages, Progress

    Answer = TypeVar("Answer")

# With fewer files a plain scan takes a few milliseconds and needs no index on disk.
FEWEST_FILES = 200
MEMORY_BYTES = 64_000_000
_MAX_OPEN_INDEXES = 8
# Error codes of SQLite for temporary faults, if the file may be sound: PERM, BUSY, LOCKED,
# NOMEM, READONLY, INTERRUPT, IOERR, FULL, CANTOPEN, PROTOCOL, AUTH.
_TEMPORARY_FAULTS = frozenset((3, 5, 6, 7, 8, 9, 10, 13, 14, 15, 23))
# Connections that a fork copied: SQLite forbids the child to use or close them.
_FORKED_INDEXES: list[object] = []


class SearchIndex:
    """The indexes of a store's shelves, one file each, built and updated by the searches."""

    def __init__(
        self,
        store: DiskPages,
        folder: str,
        *,
        modes: tuple[int, int] = (0o600, 0o700),
        may_watch: bool = True,
        fewest_files: int = FEWEST_FILES,
        memory_bytes: int = MEMORY_BYTES,
        progress: Progress = lambda _title, _count, _total: None,
        history: VersionHistory | None = None,
    ) -> None:
        self.folder = folder
        self._history = history
        self._store = store
        self._modes = modes
        self._may_watch = may_watch
        self._fewest_files = fewest_files
        self._memory_bytes = memory_bytes
        self._progress = progress
        self._is_supported: bool | None = None
        self._start()

    def matching(self, shelf: Shelf, prefix: str, folded_text: str) -> tuple[Counts, str] | None:
        """Count the lines that hold a folded text, by page below a folder; None: scan instead."""
        return self.query(
            shelf, lambda index: index.matching(prefix, folded_text), accept_small=False
        )

    def rank_pages(
        self, shelf: Shelf, terms: tuple[str, ...], limit: int, keep: Filter | None = None
    ) -> list[RankedPage] | None:
        """Return the best pages for some terms, best first; None: score them instead."""
        return self.query(
            shelf, lambda index: index.rank_pages(terms, limit, keep), accept_small=True
        )

    def at(self, shelf: Shelf, moment: float) -> PastSearch | None:
        """Return a page finder for a moment in the past, or None if no history is known."""
        return None if self._history is None else PastSearch(self, self._store, shelf, moment)

    def forget(self, shelf: Shelf) -> None:
        """Delete the index of a shelf with every text in it; the next search builds it again."""
        self._notice_fork()
        with self._lock:
            index = self._open.pop(shelf.name, None)
        self._retire(index)
        remove(self._path_of(shelf))

    def close(self) -> None:
        """Close every file and watch."""
        self._notice_fork()
        with self._lock:
            indexes = list(self._open.values())
            self._open.clear()
        for index in indexes:
            self._retire(index)

    def __del__(self) -> None:
        self.close()  # a workspace is often dropped rather than closed

    def _start(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._open: dict[str, ShelfIndex] = {}
        self._memory = MemoryBudget(self._memory_bytes)

    def _notice_fork(self) -> None:
        if self._pid != os.getpid():
            _FORKED_INDEXES.append(self._open)
            self._start()

    def query(
        self, shelf: Shelf, query: Callable[[ShelfIndex], Answer], *, accept_small: bool
    ) -> Answer | None:
        """Query the index of a shelf, again with a new file if the present file is damaged."""
        if self._is_supported is None:
            self._is_supported = supports_full_text()
        for _ in range(2 if self._is_supported else 0):
            try:
                return self._query_once(shelf, query, accept_small=accept_small)
            except (sqlite3.Error, UnicodeError) as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF in _TEMPORARY_FAULTS:
                    return None
                try:
                    remove(self._path_of(shelf))
                except OSError:
                    return None
            except (OSError, LooseleafError, IndexUnreliable):
                return None  # the scan reports the fault, if there is one
        return None

    def _query_once(
        self, shelf: Shelf, query: Callable[[ShelfIndex], Answer], *, accept_small: bool
    ) -> Answer | None:
        while (index := self._find_index(shelf, accept_small=accept_small)) is not None:
            with index.lock:
                if index.is_closed:
                    continue  # another thread found a fault and closed it
                try:
                    return query(index)
                except BaseException:
                    index.close()
                    raise
        return None

    def _find_index(self, shelf: Shelf, *, accept_small: bool) -> ShelfIndex | None:
        """Return the index of a shelf, opened if needed, or None if a scan is better."""
        self._notice_fork()
        retired_indexes = []
        try:
            with self._lock:
                folder = self._store.folder(shelf)
                index = self._open.pop(shelf.name, None)
                if index is not None and not self._is_usable(index, folder):
                    retired_indexes.append(index)
                    index = None
                index = index or self._open_index(shelf, folder, accept_small=accept_small)
                if index is not None:
                    self._open[shelf.name] = index  # the dictionary is ordered by last use
                if len(self._open) > _MAX_OPEN_INDEXES:
                    retired_indexes.append(self._open.pop(next(iter(self._open))))
        finally:
            for old in retired_indexes:
                self._retire(old)
        return index

    def _is_usable(self, index: ShelfIndex, folder: str) -> bool:
        if index.is_closed or not index.is_same(folder):
            return False
        return index.file.path != IN_MEMORY or len(index.tree.pages) < self._fewest_files

    def _open_index(self, shelf: Shelf, folder: str, *, accept_small: bool) -> ShelfIndex | None:
        # Other machines do not see SQLite's locks: a network file system gets no index file.
        is_on_disk = holds_at_least(folder, self._fewest_files) and is_local(folder)
        if not is_on_disk:
            remove(self._path_of(shelf))  # left from a time with more pages
        if not (is_on_disk or accept_small):
            return None
        tree = Tree(folder, may_watch=self._may_watch)
        if tree.identity is None:
            return None
        file = IndexFile(self._path_of(shelf) if is_on_disk else IN_MEMORY, modes=self._modes)
        return ShelfIndex(
            self._store,
            shelf,
            file=file,
            tree=tree,
            memory=self._memory,
            progress=self._progress,
            history=self._history,
        )

    def verify(self, shelf: Shelf) -> list[str]:
        """List the differences between the file of an index and its pages."""
        path = self._path_of(shelf)
        return verify_index(self._store, shelf, path) if os.path.exists(path) else []

    def _path_of(self, shelf: Shelf) -> str:
        return os.path.join(self.folder, f"{shelf.name}.sqlite")

    @staticmethod
    def _retire(index: ShelfIndex | None) -> None:
        if index is not None:
            with index.lock:
                if not index.is_closed:
                    index.close()
