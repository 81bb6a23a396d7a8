"""Finding: the pages that are about some words or answer a question, best first."""

from __future__ import annotations

from looseleaf.errors import InvalidQuery
from looseleaf.memory.bounds import MOST_PAGES
from looseleaf.memory.folding import folded_pages, read_content
from looseleaf.memory.passages import passage
from looseleaf.memory.ranking import ScannedWords, question_words, rank
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from looseleaf.memory.ranking import Filter, Ranked
    from looseleaf.memory.scope import Shelf
    from looseleaf.memory.store import Store

    Counts = list[tuple[str, int]]
else:
    Protocol = object


@value
class Hit:
    """A page that is about the words; a higher score is a better page."""

    filename: str
    score: float
    snippet: str


class Index(Protocol):
    """A shortcut to the answer of a plain scan; None where it has none, and the scan is made."""

    def matching(self, shelf: Shelf, prefix: str, folded: str) -> tuple[Counts, str] | None:
        """Count the lines that hold a folded text, by page below a folder, and say how fresh."""

    def ranked(
        self, shelf: Shelf, terms: tuple[str, ...], limit: int, keep: Filter | None = None
    ) -> list[Ranked] | None:
        """Give the best pages for some terms, best first; only those that `keep` names."""

    def verify(self, shelf: Shelf) -> list[str]:
        """Say what the file of an index has that its pages have not."""

    def forget(self, shelf: Shelf) -> None:
        """Drop every text of a shelf; the next search makes it anew."""

    def close(self) -> None:
        """Let go of every file; the next search opens them again."""


def ranked(
    store: Store,
    shelf: Shelf,
    words: str,
    *,
    index: Index | None = None,
    limit: int = 10,
    keep: Filter | None = None,
) -> list[Hit]:
    """Find the pages that are about some words, best first, each with the lines that show it."""
    terms = question_words(words)
    if not terms:
        raise InvalidQuery(words, "it has no words")
    if limit < 0:
        raise InvalidQuery(words, "limit cannot be negative")
    limit = min(limit, MOST_PAGES)
    best = index.ranked(shelf, terms, limit, keep) if index is not None else None
    if best is None:
        best = rank(ScannedWords(folded_pages(store, shelf)), terms, limit, keep)
    hits = []
    for page in best:
        content = read_content(store, shelf, page.filename)
        if content is not None:
            text = passage(content, page.lines, terms)
            hits.append(Hit(page.filename, float(f"{page.score:.6g}"), text))
    return hits
