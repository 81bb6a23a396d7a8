"""Search: a text in the lines of pages; the pages about its words, where no line has it."""

from __future__ import annotations

import time

from looseleaf.errors import InvalidDate, InvalidQuery, PageMissing
from looseleaf.memory.bounds import BOUNDS
from looseleaf.memory.day import day_of, parse_date
from looseleaf.memory.find import ranked
from looseleaf.memory.folding import count_lines, fold, read_content
from looseleaf.memory.matches import Collected, Match
from looseleaf.memory.scope import check_folder
from looseleaf.memory.words import is_question
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.memory.bounds import Bounds
    from looseleaf.memory.find import Counts, Hit, Index
    from looseleaf.memory.scope import Shelf
    from looseleaf.memory.store import Store

# A search through years of days asks thousands of names for their day, the same ones each time.
_DAYS: dict[str, str] = {}
_REMEMBER = 8192
_RANKED_PAGES = 5  # in the place of matches that there are none of
_RANKED_NOTICE = "No line has this exact text; ranked lists the pages that are about its words."


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
class Results:
    """The first matches, how many lines on how many pages match in all, and how that is known.

    Where several words match nowhere, `ranked` has the pages that are about them, best first.
    `notice` says so, and says what was left out of the matches because the answer is bounded.
    """

    matches: tuple[Match, ...]
    total: int
    files: int
    freshness: str
    ranked: tuple[Hit, ...] = ()
    notice: str = ""


def search(
    store: Store,
    shelf: Shelf,
    query: Query,
    *,
    index: Index | None = None,
    bounds: Bounds = BOUNDS,
) -> Results:
    """Find the lines that hold a text, whatever its case: daily pages newest first, others by name.

    An index says which pages match; every match that is given is read from its page all the same.
    """
    folded = _checked(query)
    if query.filename:
        if read_content(store, shelf, query.filename) is None:
            raise PageMissing(query.filename, shelf.name)
        counts, freshness = [(query.filename, 1)], as_of(1, "read")
    else:
        answer = index.matching(shelf, query.prefix, folded) if index is not None else None
        counts, freshness = answer or _scan(store, shelf, query, folded.encode())
    collected = Collected(folded.encode(), query.section, query.limit, query.context, bounds)
    total = files = 0
    for filename, known in _ordered(counts, query):
        count = known
        # Only a page's own text tells its sections, and what it says now.
        if collected.has_room or query.section or query.filename:
            content = read_content(store, shelf, filename)
            count = 0 if content is None else collected.add(filename, content)
        total += count
        files += count > 0
    if total == 0 and not query.section and is_question(query.text):
        hits = ranked(
            store, shelf, query.text, index=index, limit=_RANKED_PAGES, keep=_filter(query)
        )
        return Results((), 0, 0, freshness, tuple(hits), _RANKED_NOTICE if hits else "")
    return Results(tuple(collected.matches), total, files, freshness, (), collected.notice(total))


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
        if bound and parse_date(bound) is None:
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
        content = read_content(store, shelf, filename)
        if content is not None and (count := count_lines(fold(content), needle)):
            counts.append((filename, count))
    return counts, as_of(len(names), "read")


def _filter(query: Query) -> Callable[[str], bool] | None:
    """Give what says whether a page is in question; None where all pages are."""
    if query.filename:
        return lambda filename: filename == query.filename
    if query.since or query.until:
        return lambda filename: _within(filename, query)
    if query.prefix:
        return lambda filename: filename.startswith(f"{query.prefix}/")
    return None


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
        day = str(day_of(filename) or "")
        if len(_DAYS) < _REMEMBER:
            _DAYS[filename] = day
    return day


def as_of(files: int, what: str) -> str:
    """Say how fresh an answer is that came from looking at so many files just now."""
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return f"{files} file{'' if files == 1 else 's'} {what} at {moment}"
