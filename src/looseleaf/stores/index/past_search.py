"""A search through the pages of one shelf as they were at a moment in the past."""

from __future__ import annotations

from looseleaf.memory.search.folding import count_lines
from looseleaf.memory.search.ranking import rank
from looseleaf.stores.index.past_words import PastWords

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol, TypeVar

    from looseleaf.memory.scope import Scope, Shelf
    from looseleaf.memory.search.ranked import Counts
    from looseleaf.memory.search.ranking import Filter, RankedPage
    from looseleaf.memory.store import Found, Store
    from looseleaf.stores.index.past_versions import PastState
    from looseleaf.stores.index.shelf_index import ShelfIndex

    Answer = TypeVar("Answer")

    class Indexes(Protocol):
        """The indexes of shelves, each opened when it is asked."""

        def query(
            self, shelf: Shelf, query: Callable[[ShelfIndex], Answer], *, accept_small: bool
        ) -> Answer | None:
            """Query the index of a shelf, or None if a scan is better."""


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
        self, shelf: Shelf, terms: tuple[str, ...], limit: int, keep: Filter | None = None
    ) -> list[RankedPage] | None:
        """Return the best pages for some terms, best first; None: score them instead."""
        answer = self._indexes.query(
            shelf,
            lambda index: _rank_past(index, self._moment, terms, limit, keep),
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
    index: ShelfIndex, moment: float, terms: tuple[str, ...], limit: int, keep: Filter | None
) -> tuple[PastState, list[RankedPage]] | None:
    """Rank the pages as they were at a moment, or None if they must be read one by one."""
    index.refresh_words()
    state = index.past_state(moment)
    best: list[RankedPage] = []
    if state is not None:
        generation = index.words.generation
        if state.words is None or state.words_generation != generation:
            state.words, state.words_generation = PastWords(index.words, state), generation
        best = rank(state.words, terms, limit, keep)
    index.file.end()
    return None if state is None else (state, best)
