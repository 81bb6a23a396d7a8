"""The words of a shelf's pages from its index, kept in memory for the next search."""

from __future__ import annotations

import sqlite3

from looseleaf.memory.search.ranking import MOST_COUNTED, sum_counts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.memory.search.ranking import TermCounts
    from looseleaf.stores.index.index_file import IndexFile

_MAX_TERMS = 1024  # whose counts are kept; a byte for each page and term
_MAX_STEM_CHARACTERS = 8_000_000  # characters of pages' stems that are kept


class IndexedWords:
    """The words of pages, as `PageWords` in `memory/search/ranking.py` describes them.

    `forget` empties the lists.
    """

    def __init__(self, file: IndexFile) -> None:
        self._file = file
        self.generation = 0  # changes with the list of pages
        self.forget()

    def forget(self) -> None:
        """Drop everything: another process has changed the index."""
        self._is_loaded = False
        self.generation += 1
        self.names: list[str] = []
        self.lengths: list[int] = []
        self.pages = self.total = 0
        self._numbers: list[int] = []
        self._positions: dict[int, int] = {}
        self._counts: dict[str, bytearray] = {}
        self._sums: dict[str, TermCounts] = {}  # of the counts as they are now
        self._stems: dict[int, str] = {}
        self._stems_size = 0

    def load(self, names: dict[int, str]) -> None:
        """Load the list of pages in the present transaction, unless it is loaded."""
        if self._is_loaded:
            return
        self.forget()
        lengths = self._file.lengths()
        if len(lengths) != len(names) or any(number not in names for number, _ in lengths):
            raise sqlite3.DatabaseError("the index has words of pages that it does not list")
        for number, length in lengths:
            self._append(number, names[number], length)
        self._is_loaded = True

    def add(self, number: int, name: str, counts: dict[str, int], length: int) -> None:
        """Add a page whose words were just indexed."""
        if not self._is_loaded:
            return
        self._append(number, name, length)
        self._sums.clear()
        for term, vector in self._counts.items():
            vector.append(counts.get(term, 0))

    def remove(self, number: int) -> None:
        """Remove a page; its position stays empty."""
        position = self._positions.pop(number, None)
        if position is None:
            return
        self.pages -= 1
        self.generation += 1
        self.total -= self.lengths[position]
        self.names[position], self.lengths[position] = "", 0
        self._stems_size -= len(self._stems.pop(position, ""))
        self._sums.clear()
        for vector in self._counts.values():
            vector[position] = 0

    def counts(self, term: str) -> TermCounts:
        """Return how often each page holds a term."""
        sums = self._sums.get(term)
        if sums is None:
            vector = self._counts.get(term)
            if vector is None:
                vector = self._read_counts(term)
                if len(self._counts) >= _MAX_TERMS:
                    self._counts.clear()
                    self._sums.clear()
                self._counts[term] = vector
            self._sums[term] = sums = sum_counts(vector)
        return sums

    def stems(self, position: int) -> str:
        """Return the stems of a page."""
        stems = self._stems.get(position)
        if stems is None:
            stems = self._file.stems(self._numbers[position])
            if self._stems_size + len(stems) > _MAX_STEM_CHARACTERS:
                self._stems.clear()
                self._stems_size = 0
            self._stems[position] = stems
            self._stems_size += len(stems)
        return stems

    def _append(self, number: int, name: str, length: int) -> None:
        self._positions[number] = len(self.names)
        self._numbers.append(number)
        self.names.append(name)
        self.lengths.append(length)
        self.pages += 1
        self.total += length
        self.generation += 1

    def _read_counts(self, term: str) -> bytearray:
        vector = bytearray(len(self.names))
        positions = self._positions
        for count in range(1, MOST_COUNTED + 1):
            numbers = self._file.holders(term, count)
            for number in numbers:
                if number not in positions:
                    raise sqlite3.DatabaseError(
                        "the index has words of pages that it does not list"
                    )
                vector[positions[number]] = count
            if not numbers:
                break
        return vector
