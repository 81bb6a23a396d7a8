"""The index of one shelf: brought up to date with the disk, then asked."""

from __future__ import annotations

import sqlite3
import threading
import time

from looseleaf.errors import Unsafe
from looseleaf.folders import settled
from looseleaf.memory.folding import count_lines, fold
from looseleaf.memory.ranking import rank
from looseleaf.memory.store import Found
from looseleaf.stores.indexed_words import IndexedWords

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Protocol

    from looseleaf.memory.find import Counts
    from looseleaf.memory.ranking import Filter, Ranked
    from looseleaf.memory.scope import Shelf
    from looseleaf.memory.store import Store
    from looseleaf.stores.freshness import Signature, Tree
    from looseleaf.stores.index_file import IndexFile

    Progress = Callable[[str, int, int], None]

    class DiskPages(Store, Protocol):
        """A store whose shelves are folders."""

        def folder(self, shelf: Shelf) -> str:
            """Give the absolute path of the folder a shelf stands for."""

        def release(self) -> None:
            """Look for folders anew from now on."""


_BATCH = 500
_ATTEMPTS = 5


class Unsure(Exception):
    """Other processes keep changing the index; the pages must be asked."""


class Room:
    """How many bytes of folded text a process may keep in memory."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, size: int) -> bool:
        """Claim so many bytes, if there is room for them."""
        if size > self.left:
            return False
        self.left -= size
        return True


class ShelfIndex:
    """The index of one shelf, open in this process; hold `lock` while you ask it."""

    def __init__(
        self,
        store: DiskPages,
        shelf: Shelf,
        *,
        file: IndexFile,
        tree: Tree,
        room: Room,
        progress: Progress = lambda _what, _done, _total: None,
    ) -> None:
        self.lock = threading.Lock()
        self.closed = False
        self.file = file
        self.tree = tree
        self._progress = progress
        self._store = store
        self._shelf = shelf
        self._room = room
        # What the index holds, as of its change number `_change`.
        self._change = -1
        self._numbers: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._signatures: dict[str, Signature | None] = {}
        self._unsettled: set[str] = set()
        self._texts: dict[str, bytes] = {}
        self._words = IndexedWords(file)

    def close(self) -> None:
        """Let go of the file, the watches and the memory."""
        self.closed = True
        self.tree.close()
        self.file.close()
        for name in list(self._texts):
            self._drop_text(name)

    def stands(self, folder: str) -> bool:
        """Say whether index and folder are still the ones that were opened."""
        return self.tree.folder == folder and self.tree.stands() and self.file.stands()

    def matching(self, prefix: str, folded: str) -> tuple[Counts, str]:
        """Count the lines that hold a folded text, by page below a folder."""
        self._refresh()
        names: Iterable[str] = self._numbers
        if len(folded) >= 3:
            names = self._named(self.file.candidates(folded))
        below, needle = f"{prefix}/" if prefix else "", folded.encode()
        counts = [
            (name, count)
            for name in names
            if name.startswith(below) and (count := count_lines(self._text(name), needle))
        ]
        self.file.end()
        return counts, self.tree.freshness

    def ranked(
        self, terms: tuple[str, ...], limit: int, keep: Filter | None = None
    ) -> list[Ranked]:
        """Give the best pages for some terms."""
        for _ in range(_ATTEMPTS):
            self._refresh()
            if not self.file.wordless(1):
                self._words.load(self._names)
                best = rank(self._words, terms, limit, keep)
                self.file.end()
                return best
            self.file.end()
            self._index_words()
        raise Unsure

    def _refresh(self) -> None:
        """Bring the index up to date, and stay in a transaction that sees exactly that."""
        changed = self.tree.refresh()
        if self._change < 0:
            self.file.begin()
            self._load()
            self.file.end()
        for _ in range(_ATTEMPTS):
            stale = self._stale(changed)
            for at in range(0, len(stale), _BATCH):
                if len(stale) > _BATCH:
                    self._progress("Indexing pages", at, len(stale))
                self._update(stale[at : at + _BATCH])
            self.file.begin()
            if self.file.change() == self._change:
                return
            # Another process has written. What it wrote is compared with the disk like our own.
            self._load()
            self.file.end()
            changed = None
        raise Unsure

    def _stale(self, changed: set[str] | None) -> list[str]:
        """Name the pages whose indexed text may not be the one on the disk; None is all pages."""
        pages, known = self.tree.pages, self._signatures
        if changed is None and known == pages:
            return []  # nothing is unsettled either: such a page is known by no signature
        names: Iterable[str] = known.keys() | pages.keys() if changed is None else changed
        return sorted({n for n in names if known.get(n) != pages.get(n)} | self._unsettled)

    def _load(self) -> None:
        """Learn what the index holds, in the present transaction."""
        numbers, signatures = self._numbers, self._signatures
        self._numbers, self._signatures = {}, {}
        for name, number, signature in self.file.pages():
            self._numbers[name] = number
            self._signatures[name] = signature
        self._names = {number: name for name, number in self._numbers.items()}
        self._words.forget()
        self._unsettled = {name for name, known in self._signatures.items() if known is None}
        for name in list(self._texts):
            before = numbers[name], signatures[name]
            if None in before or before != (self._numbers.get(name), self._signatures.get(name)):
                self._drop_text(name)
        self._change = self.file.change()

    def _update(self, names: list[str]) -> None:
        """Index pages anew.

        The files are read while the index is locked: so no process can write an older text over a
        newer one. A process that is killed leaves the batches it has finished.
        """
        self.file.begin(writing=True)
        if self.file.change() != self._change:
            self._load()
        if sum(map(self._update_page, names)):
            self.file.count_change()
            self._change = self.file.change()
        self.file.end(keep=True)

    def _update_page(self, name: str) -> bool:
        """Index one page as it is now; say whether its text was another."""
        moment = time.time_ns()
        signature = self.tree.look(name)
        if signature is not None and self._signatures.get(name) == signature:
            return False  # another process was faster
        content = self._content(name) if signature is not None else None
        if signature is None or content is None:
            return self._delete(name)
        text = fold(content)
        number = self._numbers.get(name)
        fresh = number is None or self._text(name) != text
        if number is None or fresh:
            self._delete(name)
            number = self.file.add(name, text)
            self._numbers[name], self._names[number] = number, name
            self._keep_text(name, text)
        trusted = signature if settled(signature[1], moment) else None
        if fresh or trusted != self._signatures[name]:
            self.file.sign(number, trusted)
        self._signatures[name] = trusted
        (self._unsettled.discard if trusted else self._unsettled.add)(name)
        return fresh

    def _delete(self, name: str) -> bool:
        number = self._numbers.pop(name, None)
        if number is None:
            return False
        self.file.delete(number)
        self._words.remove(number)
        del self._names[number], self._signatures[name]
        self._unsettled.discard(name)
        self._drop_text(name)
        return True

    def _content(self, name: str) -> bytes | None:
        # A text older than its signature, from a folder that has been moved since, would stay.
        self._store.release()
        try:
            page = self._store.read(self._shelf.page(name))
        except Unsafe:
            return None  # what the store will not touch is no page
        return page.content if isinstance(page, Found) else None

    def _index_words(self) -> None:
        """Index the words of the pages that came since the last ranked search."""
        left = True
        while left:
            self.file.begin(writing=True)
            for number, name in (batch := self.file.wordless(_BATCH)):
                self._words.add(number, name, *self.file.add_words(number, name))
            self.file.end(keep=True)
            left = len(batch) == _BATCH

    def _named(self, numbers: Iterable[int]) -> list[str]:
        try:
            return [self._names[number] for number in numbers]
        except KeyError:
            raise sqlite3.DatabaseError("the index names pages it does not hold") from None

    def _text(self, name: str) -> bytes:
        text = self._texts.get(name)
        if text is None:
            text = self.file.text(self._numbers[name])
            self._keep_text(name, text)
        return text

    def _keep_text(self, name: str, text: bytes) -> None:
        self._drop_text(name)
        if self._room.take(len(text)):
            self._texts[name] = text

    def _drop_text(self, name: str) -> None:
        self._room.left += len(self._texts.pop(name, b""))
