"""The search index: results from SQLite and memory that always agree with the pages.

Each query first finds the changed pages, then updates the index, then searches it. If the index
cannot be sure of its result, it returns None, and the caller reads the pages instead.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from itertools import zip_longest

from looseleaf.errors import LooseleafError
from looseleaf.memory.routing import IndexByShelf
from looseleaf.memory.search.ranking import rank
from looseleaf.memory.search.results import count_lines, fold_content
from looseleaf.memory.store import Found
from looseleaf.stores.index.file_states import Tree, holds_at_least, is_local
from looseleaf.stores.index.index_file import (
    IN_MEMORY,
    IndexFile,
    is_abandoned,
    remove,
    supports_full_text,
)
from looseleaf.stores.index.past_versions import PastWords
from looseleaf.stores.index.shelf_index import IndexUnreliable, MemoryBudget, ShelfIndex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Protocol, TypeVar

    from looseleaf.memory.routing import Shelves
    from looseleaf.memory.scope import Scope, Shelf
    from looseleaf.memory.search.ranking import Counts, Filter, Index, PageWords, RankedPage
    from looseleaf.memory.store import Store
    from looseleaf.stores.disk.store import DiskStore
    from looseleaf.stores.index.past_versions import PastState, VersionHistory
    from looseleaf.stores.index.shelf_index import DiskPages, Progress

    Answer = TypeVar("Answer")

    class Indexes(Protocol):
        """The indexes of shelves, each opened when it is asked."""

        def query(
            self, shelf: Shelf, query: Callable[[ShelfIndex], Answer], *, accept_small: bool
        ) -> Answer | None:
            """Query the index of a shelf, or None if a scan is better."""


# Verification of a search index: its texts against the pages, its terms against the texts.


def verify_index(store: DiskPages, shelf: Shelf, path: str) -> list[str]:
    """List the first difference between an index and its pages; changed pages are skipped."""
    if is_abandoned(path):
        return []
    try:
        index = IndexFile(path)
    except sqlite3.DatabaseError as error:
        return [str(error)]
    new_index = IndexFile(IN_MEMORY)
    try:
        index.begin()
        # To the end, since the terms are compared with an index of all texts.
        differences = [*_verify_texts(store, shelf, index, new_index)]
        return (differences or [*_verify_terms(index, new_index)])[:1]
    except (sqlite3.DatabaseError, UnicodeError, TypeError) as error:
        return [str(error)]
    finally:
        index.close()
        new_index.close()


def _verify_texts(
    store: DiskPages, shelf: Shelf, index: IndexFile, new_index: IndexFile
) -> Iterator[str]:
    """Compare each text with its page, and add it to a new index."""
    tree = Tree(store.folder(shelf), may_watch=False)
    for name, number, signature in sorted(index.pages(), key=lambda page: page[1]):
        text = index.text(number)
        new_index.add(name, text, number=number)
        if index.has_words(number):
            new_index.add_words(number, name)
            if new_index.stems(number) != index.stems(number):
                yield f"the words of {name} differ from those of the page"
        if signature is not None and tree.check_page(name) == signature:
            try:
                page = store.read(shelf.page(name))
            except LooseleafError:
                continue  # an unreadable page is a finding of its own
            if isinstance(page, Found) and fold_content(page.content) != text:
                yield f"the text of {name} differs from that of the page"


def _verify_terms(index: IndexFile, new_index: IndexFile) -> Iterator[str]:
    for table in ("trigrams", "words"):
        pairs = zip_longest(index.terms(table), new_index.terms(table))
        if any(entry != rebuilt_entry for entry, rebuilt_entry in pairs):
            yield f"its {table} differ from those of its texts"


# A search through the pages of one shelf as they were at a moment in the past.


class PastSearch:
    """The page finder of one shelf and moment; pages are read as the last query found them."""

    def __init__(self, indexes: Indexes, store: Store, shelf: Shelf, moment: float) -> None:
        self._indexes, self._store, self._shelf, self._moment = indexes, store, shelf, moment
        self._state: PastState | None = None

    def matching(self, shelf: Shelf, prefix: str, folded_text: str) -> tuple[Counts, str] | None:
        """Count the lines that held a folded text, by page below a folder; None: scan instead."""
        answer = self._indexes.query(
            shelf,
            lambda index: _match_past(index, self._moment, prefix, folded_text),
            accept_small=False,
        )
        if answer is None:
            return None
        self._state, counts, freshness = answer
        return counts, freshness

    def rank_pages(
        self,
        shelf: Shelf,
        terms: tuple[str, ...],
        limit: int,
        keep: Filter | None = None,
        beside: Sequence[PageWords] = (),
    ) -> list[RankedPage] | None:
        """Return the best pages for some terms, best first; None: score them instead."""
        answer = self._indexes.query(
            shelf,
            lambda index: _rank_past(
                index, self._moment, lambda words: rank(words, terms, limit, keep, beside)
            ),
            accept_small=True,
        )
        if answer is None:
            return None
        self._state, best = answer
        return best

    def read(self, scope: Scope) -> Found | None:
        """Return a page as it was then, or None if only the history can tell."""
        if self._state is None or scope.shelf != self._shelf:
            return None
        return self._state.read(self._store, scope)


def _match_past(
    index: ShelfIndex, moment: float, prefix: str, folded_text: str
) -> tuple[PastState, Counts, str] | None:
    """Count the lines of each page at a moment, or None if the pages must be read one by one."""
    index.refresh()
    state = index.past_state(moment)
    counts: Counts = []
    if state is not None:
        names_then = state.present_versions
        counts = [
            pair for pair in index.count_matches(prefix, folded_text) if pair[0] in names_then
        ]
        folder_prefix, needle = f"{prefix}/" if prefix else "", folded_text.encode()
        counts += [
            (version.filename, count)
            for version in state.prior_versions
            if version.filename.startswith(folder_prefix)
            and (count := count_lines(version.folded_text, needle))
        ]
    index.file.end()
    return None if state is None else (state, counts, index.tree.freshness)


def _rank_past(
    index: ShelfIndex, moment: float, rank_words: Callable[[PageWords], list[RankedPage]]
) -> tuple[PastState, list[RankedPage]] | None:
    """Rank the pages as they were at a moment, or None if they must be read one by one."""
    index.refresh_words()
    state = index.past_state(moment)
    best: list[RankedPage] = []
    if state is not None:
        generation = index.words.generation
        if state.words is None or state.words_generation != generation:
            state.words, state.words_generation = PastWords(index.words, state), generation
        best = rank_words(state.words)
    index.file.end()
    return None if state is None else (state, best)


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
        self,
        shelf: Shelf,
        terms: tuple[str, ...],
        limit: int,
        keep: Filter | None = None,
        beside: Sequence[PageWords] = (),
    ) -> list[RankedPage] | None:
        """Return the best pages for some terms, best first; None: score them instead."""
        return self.query(
            shelf, lambda index: index.rank_pages(terms, limit, keep, beside), accept_small=True
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


# Opening the search index of a workspace.


def open_index(
    store: DiskStore,
    history: VersionHistory,
    shelves: Shelves | None,
    show_progress: Callable[[str, int, int], None],
) -> Index:
    """Open the index of the pages on disk; shelves that plugins keep elsewhere are scanned."""
    index = SearchIndex(
        store,
        f"{store.root}/.looseleaf/index",
        history=history,
        modes=store.modes,
        progress=show_progress,
    )
    return IndexByShelf(index, shelves.is_own) if shelves else index
