"""The results of a search, the bounds of its answer, and texts as a search compares them."""

from __future__ import annotations

from looseleaf.errors import Unsafe
from looseleaf.memory.deadline import check_deadline
from looseleaf.memory.sections import is_body_marker
from looseleaf.memory.store import Found
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.memory.scope import Shelf
    from looseleaf.memory.store import Store


# The results of a search: matches line by line, and pages by rank.


@value(kw_only=True)
class Match:
    """A line that holds the text, with the lines around it and the section it stands in."""

    filename: str
    line: int  # 1-based
    content: str
    context: str
    section: str = ""  # "" above the first header
    context_line: int = 0  # the number of the first line of the context; 0 if unknown
    layer: str = "agent"  # of the page


@value
class PageHit:
    """A page that is about the words; a higher score is a better page."""

    filename: str
    score: float
    snippet: str
    layer: str = "agent"


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


# Bounds of a search's answer: one place for every surface.


MOST_PAGES = 50  # of one ranked search


@value
class Bounds:
    """The limits of a search's answer, whatever is asked for; its total counts all matches."""

    matches: int = 500
    context: int = 20  # lines before and after a match
    bytes: int = 262_144  # of the lines and their context together


BOUNDS = Bounds()


# Texts as a search compares them, and the pages it reads them from.


_MARKER = b"datamachine-section-body"


def fold_content(content: bytes) -> bytes:
    """Return a page's text as it is compared: case folded, marker lines of bodies emptied."""
    if _MARKER not in content and content.isascii():
        return content.lower()
    text = content.decode("utf-8", "replace")
    if _MARKER in content:
        text = "\n".join("" if is_body_marker(line) else line for line in text.split("\n"))
    return text.casefold().encode()


def count_lines(folded_text: bytes, needle: bytes) -> int:
    """Count the lines of a folded text that hold a needle."""
    count, at = 0, folded_text.find(needle)
    while at >= 0:
        count += 1
        end = folded_text.find(b"\n", at)
        at = folded_text.find(needle, end) if end >= 0 else -1
    return count


def read_content(store: Store, shelf: Shelf, filename: str) -> bytes | None:
    """Read a page for a search that has time left, or None if there is none."""
    check_deadline()
    try:
        page = store.read(shelf.page(filename))
    except Unsafe:
        return None  # a file that the store refuses is no page
    return page.content if isinstance(page, Found) else None


def read_folded_pages(store: Store, shelf: Shelf) -> Iterator[tuple[str, bytes]]:
    """Yield every page of a shelf with its folded text."""
    for entry in store.list_subtree(shelf, ""):
        content = read_content(store, shelf, entry.filename)
        if content is not None:
            yield entry.filename, fold_content(content)
