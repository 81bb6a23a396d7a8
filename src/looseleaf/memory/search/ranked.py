"""Ranked search: the pages that are about some words or answer a question, best first."""

from __future__ import annotations

from looseleaf.errors.pages import InvalidQuery
from looseleaf.memory.search.bounds import MOST_PAGES
from looseleaf.memory.search.folding import read_content, read_folded_pages
from looseleaf.memory.search.passages import STEM, build_passage
from looseleaf.memory.search.ranking import ScannedWords, parse_question, rank
from looseleaf.memory.search.results import PageHit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from looseleaf.memory.scope import Scope, Shelf
    from looseleaf.memory.search.ranking import Filter, RankedPage
    from looseleaf.memory.store import Found, Store

    Counts = list[tuple[str, int]]
else:
    Protocol = object

_MOST_LINES = 3  # of a passage if the best lines are comments


class PageFinder(Protocol):
    """A faster way to the result of a scan; its methods give None if a scan is needed."""

    def matching(self, shelf: Shelf, prefix: str, folded_text: str) -> tuple[Counts, str] | None:
        """Count the lines with a folded text, by page below a folder; return how fresh that is."""

    def rank_pages(
        self, shelf: Shelf, terms: tuple[str, ...], limit: int, keep: Filter | None = None
    ) -> list[RankedPage] | None:
        """Return the best pages for some terms, best first; only those that `keep` accepts."""


class PastFinder(PageFinder, Protocol):
    """A page finder for the pages of one shelf as they were at a moment."""

    def read(self, scope: Scope) -> Found | None:
        """Return a page as it was then, or None if only the history has it."""


class Index(PageFinder, Protocol):
    """The page finder of all shelves as they are now, and its maintenance."""

    def at(self, shelf: Shelf, moment: float) -> PastFinder | None:
        """Return a page finder for a moment in the past, or None if there is none."""

    def verify(self, shelf: Shelf) -> list[str]:
        """List the differences between the file of an index and its pages."""

    def forget(self, shelf: Shelf) -> None:
        """Drop the indexed texts of a shelf; the next search indexes them again."""

    def close(self) -> None:
        """Close every file; the next search opens them again."""


def rank_pages(
    store: Store,
    shelf: Shelf,
    words: str,
    *,
    index: PageFinder | None = None,
    limit: int = 10,
    keep: Filter | None = None,
) -> list[PageHit]:
    """Find the pages that are about some words, best first, each with the lines that show it."""
    terms = parse_question(words)
    if not terms:
        raise InvalidQuery(words, "it has no words")
    if limit < 0:
        raise InvalidQuery(words, "limit cannot be negative")
    limit = min(limit, MOST_PAGES)
    best = index.rank_pages(shelf, terms, limit, keep) if index is not None else None
    if best is None:
        best = rank(ScannedWords(read_folded_pages(store, shelf)), terms, limit, keep)
    hits = []
    for page in best:
        content = read_content(store, shelf, page.filename)
        text = _choose_passage(content, page, terms) if content is not None else None
        if text is not None:
            hits.append(PageHit(page.filename, float(f"{page.score:.6g}"), text))
    return hits


def _choose_passage(content: bytes, page: RankedPage, terms: tuple[str, ...]) -> str | None:
    """Choose the lines that show what a page is about, or None if only comments do."""
    if b"<!--" not in content:
        return build_passage(content, page.lines, terms)
    from looseleaf.memory.text.comments import blank_comments

    text = blank_comments(content.decode("utf-8", "replace"))
    lines = text.split("\n")
    best = [number for number in page.lines if number < len(lines) and lines[number].strip()]
    if page.lines and not best:
        best = [number for number, line in enumerate(lines) if _has_term(line, terms)][:_MOST_LINES]
        if not best:
            return None
    return build_passage(text.encode(), best, terms)


def _has_term(line: str, terms: tuple[str, ...]) -> bool:
    folded_line = line.casefold()
    return any(term[:STEM] in folded_line for term in terms)
