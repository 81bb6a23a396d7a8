"""The words of a shelf's pages from its index, kept in memory for the next question."""

from __future__ import annotations

import sqlite3

from looseleaf.memory.ranking import MOST_COUNTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.stores.index_file import IndexFile

_MOST_TERMS = 1024  # whose counts are kept; a byte for each page and term
_MOST_STEMS = 8_000_000  # characters of pages' stems that are kept


class IndexedWords:
    """What `looseleaf.memory.ranking.PageWords` asks for; its lists begin anew after `forget`."""

    def __init__(self, file: IndexFile) -> None:
        self._file = file
        self.forget()

    def forget(self) -> None:
        """Drop everything: another process has changed the index."""
        self._loaded = False
        self.names: list[str] = []
        self.lengths: list[int] = []
        self.pages = self.total = 0
        self._numbers: list[int] = []
        self._places: dict[int, int] = {}
        self._counts: dict[str, bytearray] = {}
        self._stems: dict[int, str] = {}
        self._stems_size = 0

    def load(self, names: dict[int, str]) -> None:
        """Learn which pages there are, in the present transaction, unless they are known."""
        if self._loaded:
            return
        self.forget()
        lengths = self._file.lengths()
        if len(lengths) != len(names) or any(number not in names for number, _ in lengths):
            raise sqlite3.DatabaseError("the index has the words of other pages than it holds")
        for number, length in lengths:
            self._append(number, names[number], length)
        self._loaded = True

    def add(self, number: int, name: str, counts: dict[str, int], length: int) -> None:
        """Take in a page whose words were just indexed."""
        if not self._loaded:
            return
        self._append(number, name, length)
        for term, vector in self._counts.items():
            vector.append(counts.get(term, 0))

    def remove(self, number: int) -> None:
        """Take a page out; its place stays empty."""
        place = self._places.pop(number, None)
        if place is None:
            return
        self.pages -= 1
        self.total -= self.lengths[place]
        self.names[place], self.lengths[place] = "", 0
        self._stems_size -= len(self._stems.pop(place, ""))
        for vector in self._counts.values():
            vector[place] = 0

    def counts(self, term: str) -> bytearray:
        """Give how often each page holds a term, by place."""
        vector = self._counts.get(term)
        if vector is None:
            vector = self._read_counts(term)
            if len(self._counts) >= _MOST_TERMS:
                self._counts.clear()
            self._counts[term] = vector
        return vector

    def stems(self, place: int) -> str:
        """Give the stems of a page."""
        stems = self._stems.get(place)
        if stems is None:
            stems = self._file.stems(self._numbers[place])
            if self._stems_size + len(stems) > _MOST_STEMS:
                self._stems.clear()
                self._stems_size = 0
            self._stems[place] = stems
            self._stems_size += len(stems)
        return stems

    def _append(self, number: int, name: str, length: int) -> None:
        self._places[number] = len(self.names)
        self._numbers.append(number)
        self.names.append(name)
        self.lengths.append(length)
        self.pages += 1
        self.total += length

    def _read_counts(self, term: str) -> bytearray:
        vector = bytearray(len(self.names))
        places = self._places
        for count in range(1, MOST_COUNTED + 1):
            numbers = self._file.holders(term, count)
            for number in numbers:
                if number not in places:
                    raise sqlite3.DatabaseError("the index finds words on pages it does not hold")
                vector[places[number]] = count
            if not numbers:
                break
        return vector
