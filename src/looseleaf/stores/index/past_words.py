"""The words of a shelf's pages at a moment: those of the index, and those of prior versions."""

from __future__ import annotations

from looseleaf.memory.search.ranking import MOST_COUNTED, count_words, sum_counts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.memory.search.ranking import TermCounts
    from looseleaf.stores.index.indexed_words import IndexedWords
    from looseleaf.stores.index.past_versions import PastState, PriorVersion

_MAX_TERMS = 1024


class PastWords:
    """The words of pages, as `PageWords` in `memory/search/ranking.py` describes them.

    The places of the index come first, those of prior versions follow. The value is valid while the
    words of the index have the same `generation`.
    """

    def __init__(self, present_words: IndexedWords, state: PastState) -> None:
        self._present_words = present_words
        names_then = state.present_versions
        is_there = [name in names_then for name in present_words.names]
        self._mask = int.from_bytes(
            bytes(255 if is_present else 0 for is_present in is_there), "little"
        )
        self._present_count = len(is_there)
        self._versions = state.prior_versions
        self._name_counts: list[dict[str, int]] = []
        self.names = [name if name in names_then else "" for name in present_words.names]
        self.lengths = [
            length if is_present else 0
            for length, is_present in zip(present_words.lengths, is_there, strict=True)
        ]
        for version in self._versions:
            self.names.append(version.filename)
            self.lengths.append(len(version.stems.split()))
            self._name_counts.append(count_words(version.filename, ""))
        self.pages = sum(is_there) + len(self._versions)
        self.total = sum(self.lengths)
        self._counts: dict[str, TermCounts] = {}

    def counts(self, term: str) -> TermCounts:
        """Return how often each page holds a term."""
        counts = self._counts.get(term)
        if counts is None:
            if len(self._counts) >= _MAX_TERMS:
                self._counts.clear()
            by_place = self._present_words.counts(term).by_place
            present_counts = int.from_bytes(by_place, "little") & self._mask
            prior_counts = bytes(
                _count_term(version, name_counts, term)
                for version, name_counts in zip(self._versions, self._name_counts, strict=True)
            )
            counts = sum_counts(
                present_counts.to_bytes(self._present_count, "little") + prior_counts
            )
            self._counts[term] = counts
        return counts

    def stems(self, place: int) -> str:
        """Return the stems of a page."""
        if place < self._present_count:
            return self._present_words.stems(place)
        return self._versions[place - self._present_count].stems


def _count_term(version: PriorVersion, name_counts: dict[str, int], term: str) -> int:
    """Count a term on a page as `count_words` does, which counts all of them at once."""
    stems, needle, step = version.stems, f" {term} ", len(term) + 1
    count, at = name_counts.get(term, 0), stems.find(needle)
    while at >= 0 and count < MOST_COUNTED:
        count += 1
        at = stems.find(needle, at + step)
    return count
