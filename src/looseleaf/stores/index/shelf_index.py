"""The index of one shelf: updated from the disk, then searched."""

from __future__ import annotations

import sqlite3
import threading
import time

from looseleaf.errors import Unsafe
from looseleaf.files.folders import is_settled
from looseleaf.memory.search.ranking import rank
from looseleaf.memory.search.results import count_lines, fold_content
from looseleaf.memory.store import Found
from looseleaf.stores.index.index_file import IndexedWords
from looseleaf.stores.index.past_versions import PastVersions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Protocol

    from looseleaf.memory.scope import Shelf
    from looseleaf.memory.search.ranking import Counts, Filter, PageWords, RankedPage
    from looseleaf.memory.store import Store
    from looseleaf.stores.index.file_states import Signature, Tree
    from looseleaf.stores.index.index_file import IndexFile
    from looseleaf.stores.index.past_versions import PastState, VersionHistory

    Progress = Callable[[str, int, int], None]

    class DiskPages(Store, Protocol):
        """A store whose shelves are folders."""

        def folder(self, shelf: Shelf) -> str:
            """Return the absolute path of a shelf's folder."""

        def release(self) -> None:
            """Resolve folders again from now on."""

        def clock(self) -> float:
            """Return the time."""


_BATCH = 500
_ATTEMPTS = 5


class IndexUnreliable(Exception):
    """Other processes keep changing the index; the pages must be read."""


class MemoryBudget:
    """The number of bytes of folded text that a process may still keep in memory."""

    def __init__(self, free_bytes: int) -> None:
        self.free_bytes = free_bytes

    def take(self, size: int) -> bool:
        """Claim this number of bytes, if they are free."""
        if size > self.free_bytes:
            return False
        self.free_bytes -= size
        return True


class ShelfIndex:
    """The index of one shelf, open in this process; hold `lock` while you search it."""

    def __init__(
        self,
        store: DiskPages,
        shelf: Shelf,
        *,
        file: IndexFile,
        tree: Tree,
        memory: MemoryBudget,
        progress: Progress = lambda _title, _count, _total: None,
        history: VersionHistory | None = None,
    ) -> None:
        self.lock = threading.Lock()
        self.is_closed = False
        self.file = file
        self.tree = tree
        self._progress = progress
        self._store = store
        self._shelf = shelf
        self._memory = memory
        # The content of the index, as of its change number `_change`.
        self._change = -1
        self._numbers: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._signatures: dict[str, Signature | None] = {}
        self._unsettled_names: set[str] = set()
        self._texts: dict[str, bytes] = {}
        self.words = IndexedWords(file)
        self._history = history
        self._past: PastVersions | None = None  # once a search asked for the past

    def close(self) -> None:
        """Close the file and the watches, and free the memory."""
        self.is_closed = True
        self.tree.close()
        self.file.close()
        for name in list(self._texts):
            self._drop_text(name)

    def is_same(self, folder: str) -> bool:
        """Return whether file and folder are still the ones that were opened."""
        return self.tree.folder == folder and self.tree.is_same() and self.file.is_same()

    def matching(self, prefix: str, folded_text: str) -> tuple[Counts, str]:
        """Count the lines that hold a folded text, by page below a folder."""
        self.refresh()
        counts = self.count_matches(prefix, folded_text)
        self.file.end()
        return counts, self.tree.freshness

    def count_matches(self, prefix: str, folded_text: str) -> Counts:
        """Count as `matching` does, in the present transaction."""
        names: Iterable[str] = self._numbers
        if len(folded_text) >= 3:
            names = self._names_of(self.file.candidates(folded_text))
        folder_prefix, needle = f"{prefix}/" if prefix else "", folded_text.encode()
        return [
            (name, count)
            for name in names
            if name.startswith(folder_prefix)
            and (count := count_lines(self._read_text(name), needle))
        ]

    def rank_pages(
        self,
        terms: tuple[str, ...],
        limit: int,
        keep: Filter | None = None,
        beside: Sequence[PageWords] = (),
    ) -> list[RankedPage]:
        """Return the best pages for some terms."""
        self.refresh_words()
        best = rank(self.words, terms, limit, keep, beside)
        self.file.end()
        return best

    def past_state(self, moment: float) -> PastState | None:
        """Return the pages as of a moment, or None if the history does not know all of them."""
        if self._history is None:
            return None
        if self._past is None:
            self._past = PastVersions(self._history, self._shelf, self._store.clock, self._progress)
        state = self._past.state(moment, self.tree.pages)
        is_indexed = state is None or state.present_versions.keys() <= self._numbers.keys()
        return state if is_indexed else None

    def refresh_words(self) -> None:
        """Update the index and its words, and stay in a transaction that sees exactly that."""
        for _ in range(_ATTEMPTS):
            self.refresh()
            if not self.file.list_wordless(1):
                self.words.load(self._names)
                return
            self.file.end()
            self._index_words()
        raise IndexUnreliable

    def refresh(self) -> None:
        """Update the index, and stay in a transaction that sees exactly that state."""
        changed_names = self.tree.refresh()
        if self._past is not None:
            self._past.note_changes(changed_names)
            self._past.note_changes(self._unsettled_names)
        if self._change < 0:
            self.file.begin()
            self._load()
            self.file.end()
        for _ in range(_ATTEMPTS):
            stale = self._list_stale(changed_names)
            for start in range(0, len(stale), _BATCH):
                if len(stale) > _BATCH:
                    self._progress("Indexing pages", start, len(stale))
                self._update(stale[start : start + _BATCH])
            self.file.begin()
            if self.file.change() == self._change:
                return
            # Another process has written. Its entries are compared with the disk like our own.
            self._load()
            self.file.end()
            changed_names = None
        raise IndexUnreliable

    def _list_stale(self, changed_names: set[str] | None) -> list[str]:
        """Name the pages whose indexed text may be outdated; None stands for all pages."""
        pages, signatures = self.tree.pages, self._signatures
        if changed_names is None and signatures == pages:
            return []  # nothing is unsettled either: such a page has no signature
        names: Iterable[str] = (
            signatures.keys() | pages.keys() if changed_names is None else changed_names
        )
        return sorted(
            {n for n in names if signatures.get(n) != pages.get(n)} | self._unsettled_names
        )

    def _load(self) -> None:
        """Load the list of indexed pages, in the present transaction."""
        numbers, signatures = self._numbers, self._signatures
        self._numbers, self._signatures = {}, {}
        for name, number, signature in self.file.pages():
            self._numbers[name] = number
            self._signatures[name] = signature
        self._names = {number: name for name, number in self._numbers.items()}
        self.words.forget()
        self._unsettled_names = {name for name, mark in self._signatures.items() if mark is None}
        for name in list(self._texts):
            old_entry = numbers[name], signatures[name]
            if None in old_entry or old_entry != (
                self._numbers.get(name),
                self._signatures.get(name),
            ):
                self._drop_text(name)
        self._change = self.file.change()

    def _update(self, names: list[str]) -> None:
        """Index pages again.

        The files are read while the index is locked: so no process can write an older text over a
        newer one. A process that is killed leaves its finished batches.
        """
        self.file.begin(write=True)
        if self.file.change() != self._change:
            self._load()
        if sum(map(self._update_page, names)):
            self.file.count_change()
            self._change = self.file.change()
        self.file.end(keep=True)

    def _update_page(self, name: str) -> bool:
        """Index one page as it is now; return whether its text has changed."""
        checked_at = time.time_ns()
        signature = self.tree.check_page(name)
        if signature is not None and self._signatures.get(name) == signature:
            return False  # another process was faster
        content = self._read_content(name) if signature is not None else None
        if signature is None or content is None:
            return self._delete(name)
        text = fold_content(content)
        number = self._numbers.get(name)
        is_changed = number is None or self._read_text(name) != text
        if number is None or is_changed:
            self._delete(name)
            number = self.file.add(name, text)
            self._numbers[name], self._names[number] = number, name
            self._keep_text(name, text)
        reliable_signature = signature if is_settled(signature[1], checked_at) else None
        if is_changed or reliable_signature != self._signatures[name]:
            self.file.sign(number, reliable_signature)
        self._signatures[name] = reliable_signature
        (self._unsettled_names.discard if reliable_signature else self._unsettled_names.add)(name)
        return is_changed

    def _delete(self, name: str) -> bool:
        number = self._numbers.pop(name, None)
        if number is None:
            return False
        self.file.delete(number)
        self.words.remove(number)
        del self._names[number], self._signatures[name]
        self._unsettled_names.discard(name)
        self._drop_text(name)
        return True

    def _read_content(self, name: str) -> bytes | None:
        # A text older than its signature, from a folder that has been moved since, would stay.
        self._store.release()
        try:
            page = self._store.read(self._shelf.page(name))
        except Unsafe:
            return None  # a file that the store refuses is no page
        return page.content if isinstance(page, Found) else None

    def _index_words(self) -> None:
        """Index the words of the pages that were added since the last ranked search."""
        has_more = True
        while has_more:
            self.file.begin(write=True)
            for number, name in (batch := self.file.list_wordless(_BATCH)):
                self.words.add(number, name, *self.file.add_words(number, name))
            self.file.end(keep=True)
            has_more = len(batch) == _BATCH

    def _names_of(self, numbers: Iterable[int]) -> list[str]:
        try:
            return [self._names[number] for number in numbers]
        except KeyError:
            raise sqlite3.DatabaseError("the index names pages that it does not list") from None

    def _read_text(self, name: str) -> bytes:
        text = self._texts.get(name)
        if text is None:
            text = self.file.text(self._numbers[name])
            self._keep_text(name, text)
        return text

    def _keep_text(self, name: str, text: bytes) -> None:
        self._drop_text(name)
        if self._memory.take(len(text)):
            self._texts[name] = text

    def _drop_text(self, name: str) -> None:
        self._memory.free_bytes += len(self._texts.pop(name, b""))
