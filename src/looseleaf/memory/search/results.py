"""The results of a search: matches line by line, and pages by rank."""

from __future__ import annotations

from looseleaf.values import value


@value
class Match:
    """A line that holds the text, with the lines around it and the section it stands in."""

    filename: str
    line: int  # 1-based
    content: str
    context: str
    section: str = ""  # "" above the first header


@value
class PageHit:
    """A page that is about the words; a higher score is a better page."""

    filename: str
    score: float
    snippet: str


@value(kw_only=True)
class SearchResults:
    """The first matches, the numbers of all matching lines and pages, and their freshness.

    If several words match nowhere, `ranked` has the pages that are about them, best first.
    `notice` says so, and says what was left out of the matches because the answer is bounded.
    `unseen` has the first pages, and `unseen_total` the number of pages, that were not searched:
    their versions of the time in question are no longer kept.
    """

    matches: tuple[Match, ...]
    total: int
    files: int
    freshness: str
    ranked: tuple[PageHit, ...] = ()
    notice: str = ""
    unseen: tuple[str, ...] = ()
    unseen_total: int = 0


@value
class RankedPages:
    """The pages that are about some words, best first.

    `unseen` has the first pages, and `unseen_total` the number of pages, that were not looked at:
    their versions of the time in question are no longer kept.
    """

    pages: tuple[PageHit, ...]
    unseen: tuple[str, ...] = ()
    unseen_total: int = 0
