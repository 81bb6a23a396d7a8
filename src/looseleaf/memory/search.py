"""Search: a text in the lines of pages, and the pages that are about some words."""

from __future__ import annotations

import time

from looseleaf.errors import InvalidDate, InvalidQuery, PageMissing, Unsafe
from looseleaf.memory.ranking import scored, snippet, terms_of
from looseleaf.memory.scope import check_folder
from looseleaf.memory.sections import is_body_marker, list_sections, section_at
from looseleaf.memory.store import Found
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from looseleaf.memory.scope import Shelf
    from looseleaf.memory.store import Store

    Counts = list[tuple[str, int]]
    Scores = list[tuple[str, float]]
else:
    Protocol = object

_MARKER = b"datamachine-section-body"
# A search through years of days asks thousands of names for their day, the same ones each time.
_DAYS: dict[str, str] = {}
_REMEMBER = 8192
_MOST = 2**31  # no shelf has more pages, and no database counts much further


@value
class Query:
    """What to look for, and where: everywhere, below a folder, on one page, in a range of days.

    `since` and `until` are days, both included; with either, only daily pages are searched.
    """

    text: str
    prefix: str = ""
    filename: str = ""
    section: str = ""
    since: str = ""
    until: str = ""
    limit: int = 50
    context: int = 2


@value
class Match:
    """A line that holds the text, with the lines around it and the section it stands in."""

    filename: str
    line: int  # 1-based
    content: str
    context: str
    section: str = ""  # "" above the first header


@value
class Results:
    """The first matches, how many lines on how many pages match in all, and how that is known."""

    matches: tuple[Match, ...]
    total: int
    files: int
    freshness: str


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

    def ranked(self, shelf: Shelf, terms: tuple[str, ...], limit: int) -> Scores | None:
        """Give the best pages for some folded words, best first."""

    def forget(self, shelf: Shelf) -> None:
        """Drop every text of a shelf; the next search makes it anew."""

    def close(self) -> None:
        """Let go of every file; the next search opens them again."""


def search(store: Store, shelf: Shelf, query: Query, *, index: Index | None = None) -> Results:
    """Find the lines that hold a text, whatever its case: daily pages newest first, others by name.

    An index says which pages match; every match that is given is read from its page all the same.
    """
    folded = _checked(query)
    if query.filename:
        if _read(store, shelf, query.filename) is None:
            raise PageMissing(query.filename, shelf.name)
        counts, freshness = [(query.filename, 1)], as_of(1, "read")
    else:
        answer = index.matching(shelf, query.prefix, folded) if index is not None else None
        counts, freshness = answer or _scan(store, shelf, query, folded.encode())
    matches: list[Match] = []
    total = files = 0
    for filename, known in _ordered(counts, query):
        count, room = known, query.limit - len(matches)
        # Only a page's own text tells its sections, and what it says now.
        if room > 0 or query.section or query.filename:
            content = _read(store, shelf, filename)
            found = [] if content is None else _matches(filename, content, folded.encode(), query)
            count = len(found)
            matches += found[:room] if room > 0 else ()
        total += count
        files += count > 0
    return Results(tuple(matches), total, files, freshness)


def ranked(
    store: Store, shelf: Shelf, words: str, *, index: Index | None = None, limit: int = 10
) -> list[Hit]:
    """Find the pages that are about some words, best first, each with its most telling line."""
    terms = terms_of(words)
    if not terms:
        raise InvalidQuery(words, "it has no words")
    if limit < 0:
        raise InvalidQuery(words, "limit cannot be negative")
    limit = min(limit, _MOST)
    scores = index.ranked(shelf, terms, limit) if index is not None else None
    # A word index cuts words at spaces, which not every script has.
    if scores is None or not (scores or "".join(terms).isascii()):
        scores = scored(_folded_pages(store, shelf), terms)[:limit]
    hits = []
    for filename, score in scores:
        content = _read(store, shelf, filename)
        if content is not None:
            hits.append(Hit(filename, float(f"{score:.6g}"), snippet(content, terms)))
    return hits


def fold(content: bytes) -> bytes:
    """Give a page's text as it is compared: case folded, lines that only mark bodies emptied."""
    if _MARKER not in content and content.isascii():
        return content.lower()
    text = content.decode("utf-8", "replace")
    if _MARKER in content:
        text = "\n".join("" if is_body_marker(line) else line for line in text.split("\n"))
    return text.casefold().encode()


def count_lines(folded: bytes, needle: bytes) -> int:
    """Count the lines of a folded text that hold a needle."""
    count, at = 0, folded.find(needle)
    while at >= 0:
        count += 1
        end = folded.find(b"\n", at)
        at = folded.find(needle, end) if end >= 0 else -1
    return count


def _checked(query: Query) -> str:
    """Give the folded text of a query that can be answered."""
    if not query.text:
        raise InvalidQuery(query.text, "it is empty")
    if "\n" in query.text:
        raise InvalidQuery(query.text, "a match never spans lines")
    if query.limit < 0 or query.context < 0:
        raise InvalidQuery(query.text, "limit and context cannot be negative")
    folded = query.text.casefold()
    try:
        folded.encode()
    except UnicodeEncodeError:
        raise InvalidQuery(query.text, "it is not valid Unicode") from None
    for bound in (query.since, query.until):
        if bound and not _is_day(bound):
            raise InvalidDate(bound)
    if query.prefix:
        check_folder(query.prefix)
    return folded


def _scan(store: Store, shelf: Shelf, query: Query, needle: bytes) -> tuple[Counts, str]:
    """Read every page that can be meant."""
    names = [entry.filename for entry in store.list_subtree(shelf, query.prefix)]
    if query.since or query.until:
        names = [filename for filename in names if _within(filename, query)]
    counts = []
    for filename in names:
        content = _read(store, shelf, filename)
        if content is not None and (count := count_lines(fold(content), needle)):
            counts.append((filename, count))
    return counts, as_of(len(names), "read")


def _folded_pages(store: Store, shelf: Shelf) -> Iterator[tuple[str, str]]:
    for entry in store.list_subtree(shelf, ""):
        content = _read(store, shelf, entry.filename)
        if content is not None:
            yield entry.filename, fold(content).decode()


def _read(store: Store, shelf: Shelf, filename: str) -> bytes | None:
    try:
        page = store.read(shelf.page(filename))
    except Unsafe:
        return None  # what the store will not touch is no page
    return page.content if isinstance(page, Found) else None


def _matches(filename: str, content: bytes, needle: bytes, query: Query) -> list[Match]:
    numbers = _line_numbers(fold(content), needle)
    if not numbers:
        return []
    text = content.decode("utf-8", "replace")
    lines = text.removesuffix("\n").split("\n")
    sections = list_sections(text)
    matches = []
    for number in numbers:
        section = section_at(sections, number) or ""
        if query.section in ("", section):
            around = lines[max(0, number - 1 - query.context) : number + query.context]
            line = lines[number - 1].removesuffix("\r")
            matches.append(Match(filename, number, line, "\n".join(around), section))
    return matches


def _line_numbers(folded: bytes, needle: bytes) -> list[int]:
    return [n for n, line in enumerate(folded.split(b"\n"), 1) if needle in line]


def _ordered(counts: Counts, query: Query) -> Counts:
    """Put pages by name first, then days from the newest, and leave out days not asked for."""
    pages: Counts = []
    days: Counts = []
    ranged = bool(query.since or query.until)
    for pair in counts:
        if ranged and not _within(pair[0], query):
            continue
        (days if _day(pair[0]) else pages).append(pair)
    return sorted(pages) + sorted(days, reverse=True)


def _within(filename: str, query: Query) -> bool:
    day = _day(filename)
    return bool(day) and query.since <= day and (not query.until or day <= query.until)


def _day(filename: str) -> str:
    """Give the day whose page this is, as YYYY-MM-DD, else ""."""
    day = _DAYS.get(filename)
    if day is None:
        day = filename[6:16].replace("/", "-")
        shaped = len(filename) == 19 and filename.startswith("daily/") and filename.endswith(".md")
        day = day if shaped and _is_day(day) else ""
        if len(_DAYS) < _REMEMBER:
            _DAYS[filename] = day
    return day


def _is_day(text: str) -> bool:
    digits = text.replace("-", "")
    dashes = text[4:5] == "-" == text[7:8]
    return dashes and len(text) == 10 and len(digits) == 8 and digits.isascii() and digits.isdigit()


def as_of(files: int, what: str) -> str:
    """Say how fresh an answer is that came from looking at so many files just now."""
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return f"{files} file{'' if files == 1 else 's'} {what} at {moment}"
