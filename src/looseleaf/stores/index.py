"""The search index: answers from SQLite and memory that are always the ones the pages give.

Each query first learns which pages have changed, then brings the index up to date, then asks it.
Where the index cannot be sure it says nothing, and the caller reads the pages instead.
"""

from __future__ import annotations

import os
import sqlite3
import threading

from looseleaf.errors import LooseleafError
from looseleaf.stores.freshness import Tree, holds_at_least
from looseleaf.stores.index_file import IN_MEMORY, IndexFile, is_possible, remove
from looseleaf.stores.index_verification import verify_index
from looseleaf.stores.shelf_index import Room, ShelfIndex, Unsure
from looseleaf.stores.watch import is_local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from looseleaf.memory.find import Counts
    from looseleaf.memory.ranking import Filter, Ranked
    from looseleaf.memory.scope import Shelf
    from looseleaf.stores.shelf_index import DiskPages, Progress

    Answer = TypeVar("Answer")

# Below this a plain scan takes a few milliseconds, and nothing needs to lie on the disk.
FEWEST_FILES = 200
MEMORY_BYTES = 64_000_000
_MOST_OPEN = 8
# What SQLite says when it cannot work now, though its file may be sound: PERM, BUSY, LOCKED,
# NOMEM, READONLY, INTERRUPT, IOERR, FULL, CANTOPEN, PROTOCOL, AUTH.
_NOT_NOW = frozenset((3, 5, 6, 7, 8, 9, 10, 13, 14, 15, 23))
# Connections that a fork copied: SQLite forbids to use them in the child, or to close them there.
_ABANDONED: list[object] = []


class SearchIndex:
    """The indexes of a store's shelves, a file each, made and kept by the searches themselves."""

    def __init__(
        self,
        store: DiskPages,
        folder: str,
        *,
        modes: tuple[int, int] = (0o600, 0o700),
        watching: bool = True,
        fewest_files: int = FEWEST_FILES,
        memory_bytes: int = MEMORY_BYTES,
        progress: Progress = lambda _what, _done, _total: None,
    ) -> None:
        self.folder = folder
        self._store = store
        self._modes = modes
        self._watching = watching
        self._fewest_files = fewest_files
        self._memory_bytes = memory_bytes
        self._progress = progress
        self._possible: bool | None = None
        self._start()

    def matching(self, shelf: Shelf, prefix: str, folded: str) -> tuple[Counts, str] | None:
        """Count the lines that hold a folded text, by page below a folder; None: scan instead."""
        return self._asked(shelf, lambda index: index.matching(prefix, folded), small=False)

    def ranked(
        self, shelf: Shelf, terms: tuple[str, ...], limit: int, keep: Filter | None = None
    ) -> list[Ranked] | None:
        """Give the best pages for some terms, best first; None: score them instead."""
        return self._asked(shelf, lambda index: index.ranked(terms, limit, keep), small=True)

    def forget(self, shelf: Shelf) -> None:
        """Delete the index of a shelf, and every text in it; a search would make it anew."""
        self._notice_fork()
        with self._lock:
            index = self._open.pop(shelf.name, None)
        self._retire(index)
        remove(self._path(shelf))

    def close(self) -> None:
        """Let go of every file and watch."""
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
        self._room = Room(self._memory_bytes)

    def _notice_fork(self) -> None:
        if self._pid != os.getpid():
            _ABANDONED.append(self._open)
            self._start()

    def _asked(
        self, shelf: Shelf, ask: Callable[[ShelfIndex], Answer], *, small: bool
    ) -> Answer | None:
        """Ask the index of a shelf; once more with a new file if the one there is damaged."""
        if self._possible is None:
            self._possible = is_possible()
        for _ in range(2 if self._possible else 0):
            try:
                return self._ask(shelf, ask, small=small)
            except (sqlite3.Error, UnicodeError) as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF in _NOT_NOW:
                    return None
                try:
                    remove(self._path(shelf))
                except OSError:
                    return None
            except (OSError, LooseleafError, Unsure):
                return None  # the scan will tell what is wrong, if anything is
        return None

    def _ask(
        self, shelf: Shelf, ask: Callable[[ShelfIndex], Answer], *, small: bool
    ) -> Answer | None:
        while (index := self._opened(shelf, small=small)) is not None:
            with index.lock:
                if index.closed:
                    continue  # another thread found something wrong with it
                try:
                    return ask(index)
                except BaseException:
                    index.close()
                    raise
        return None

    def _opened(self, shelf: Shelf, *, small: bool) -> ShelfIndex | None:
        """Give the index of a shelf, opening it if need be; None where a scan is better."""
        self._notice_fork()
        retired = []
        try:
            with self._lock:
                folder = self._store.folder(shelf)
                index = self._open.pop(shelf.name, None)
                if index is not None and not self._serves(index, folder):
                    retired.append(index)
                    index = None
                index = index or self._new(shelf, folder, small=small)
                if index is not None:
                    self._open[shelf.name] = index  # last, as the one used last
                if len(self._open) > _MOST_OPEN:
                    retired.append(self._open.pop(next(iter(self._open))))
        finally:
            for old in retired:
                self._retire(old)
        return index

    def _serves(self, index: ShelfIndex, folder: str) -> bool:
        if index.closed or not index.stands(folder):
            return False
        return index.file.path != IN_MEMORY or len(index.tree.pages) < self._fewest_files

    def _new(self, shelf: Shelf, folder: str, *, small: bool) -> ShelfIndex | None:
        # Other machines would not see SQLite's locks: on their file systems nothing is left.
        lasting = holds_at_least(folder, self._fewest_files) and is_local(folder)
        if not lasting:
            remove(self._path(shelf))  # of the time when there were more pages
        if not (lasting or small):
            return None
        tree = Tree(folder, watching=self._watching)
        if tree.identity is None:
            return None
        file = IndexFile(self._path(shelf) if lasting else IN_MEMORY, modes=self._modes)
        return ShelfIndex(
            self._store, shelf, file=file, tree=tree, room=self._room, progress=self._progress
        )

    def verify(self, shelf: Shelf) -> list[str]:
        """Say what the file of an index has that its pages have not."""
        path = self._path(shelf)
        return verify_index(self._store, shelf, path) if os.path.exists(path) else []

    def _path(self, shelf: Shelf) -> str:
        return os.path.join(self.folder, f"{shelf.name}.sqlite")

    @staticmethod
    def _retire(index: ShelfIndex | None) -> None:
        if index is not None:
            with index.lock:
                if not index.closed:
                    index.close()
