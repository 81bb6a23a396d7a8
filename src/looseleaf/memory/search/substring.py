"""Search: a text in the lines of pages; the pages about its words, if no line has it."""

from __future__ import annotations

from bisect import bisect_right

from looseleaf.errors import InvalidDate
from looseleaf.errors.pages import InvalidQuery, PageMissing, RevisionMissing
from looseleaf.memory.day import day_of, parse_date
from looseleaf.memory.deadline import check_deadline
from looseleaf.memory.history import PastPages
from looseleaf.memory.scope import check_folder
from looseleaf.memory.search.ranking import rank_pages
from looseleaf.memory.search.results import (
    BOUNDS,
    Match,
    SearchResults,
    count_lines,
    fold_content,
    read_content,
)
from looseleaf.memory.search.words import is_question
from looseleaf.memory.sections import list_sections
from looseleaf.memory.store import Missing
from looseleaf.times import format_time, now
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from looseleaf.memory.history import History
    from looseleaf.memory.scope import Scope, Shelf
    from looseleaf.memory.search.ranking import Counts, Filter, PageFinder, Place
    from looseleaf.memory.search.results import Bounds
    from looseleaf.memory.sections import Section
    from looseleaf.memory.store import Found, Store

    ReadKnown = Callable[[Scope], Found | None]


# Matches: the lines that hold a text with the lines around them, never more than the bounds.


_REPEATED = 2  # context lines of a match in the window of the match before


class MatchCollector:
    """The matches of one search, page after page, until there are enough."""

    def __init__(
        self, needle: bytes, section: str, limit: int, context: int, bounds: Bounds
    ) -> None:
        self.layer = "agent"  # of the pages that are added
        self.matches: list[Match] = []
        self._needle = needle
        self._section = section
        self._limit = min(limit, bounds.matches)
        self._context = min(context, bounds.context)
        self._bounds = bounds
        self._bytes = bounds.bytes
        self._over_limit = limit > bounds.matches
        self._over_context = context > bounds.context
        self._is_full = self._was_cut = False

    def make_room_for(self, other: MatchCollector) -> None:
        """Take only as much as the matches of another collector leave of the same bounds."""
        self._limit -= len(other.matches)
        self._bytes = other._bytes

    @property
    def has_room(self) -> bool:
        """Return whether one more match may be given."""
        return not self._is_full and len(self.matches) < self._limit

    def add(self, filename: str, content: bytes) -> int:
        """Add the matches of a page while there is room; return how many it has."""
        numbers = _find_lines(fold_content(content), self._needle)
        if not numbers:
            return 0
        text = content.decode("utf-8", "replace")
        lines = text.removesuffix("\n").split("\n")
        sections = list_sections(text)
        count = shown_until = 0
        for number in numbers:
            check_deadline(number)
            section = find_section_name(sections, number)
            if self._section not in ("", section):
                continue
            count += 1
            if self.has_room:
                # A match in the window of the match before needs less context.
                around = min(self._context, _REPEATED) if number <= shown_until else self._context
                window = max(0, number - 1 - around), min(len(lines), number + around)
                shown_until = max(shown_until, window[1])
                self._take(filename, number, lines, window, section)
        return count

    def notice(self, total: int) -> str:
        """Return what was left out because of the bounds, or "" if nothing was."""
        parts = []
        if self._is_full:
            size = f"{self._bounds.bytes:,} bytes"
            parts.append(f"The answer ends after {len(self.matches)} matches: it holds {size}.")
        elif self._over_limit and total > len(self.matches):
            parts.append(f"At most {self._bounds.matches} matches are given.")
        if self._was_cut:
            parts.append("A line or its context was cut.")
        if self._over_context and self.matches:
            parts.append(f"At most {self._bounds.context} lines around a match are given.")
        return " ".join(parts)

    def _take(
        self, filename: str, number: int, lines: list[str], window: tuple[int, int], section: str
    ) -> None:
        """Add one match; without its context, or cut, if it would not fit."""
        line = lines[number - 1].removesuffix("\r")
        context, first_line = "\n".join(lines[window[0] : window[1]]), window[0] + 1
        if _count_bytes(line) + _count_bytes(context) > self._bytes:
            context, first_line, self._was_cut = line, number, True
        if _count_bytes(line) + _count_bytes(context) > self._bytes and self.matches:
            self._is_full, self._was_cut = True, False
            return
        if 2 * _count_bytes(line) > self._bytes:
            line = context = line.encode()[: self._bytes // 2].decode("utf-8", "ignore")
        self._bytes -= _count_bytes(line) + _count_bytes(context)
        self.matches.append(
            Match(
                filename=filename,
                line=number,
                content=line,
                context=context,
                section=section,
                context_line=first_line,
                layer=self.layer,
            )
        )


def _count_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _find_lines(folded_text: bytes, needle: bytes) -> list[int]:
    return [n for n, line in enumerate(folded_text.split(b"\n"), 1) if needle in line]


def find_section_name(sections: tuple[Section, ...], line: int) -> str:
    """Name the section that a 1-based line of the page belongs to, or "" above the first header."""
    place = bisect_right(sections, line, key=lambda section: section.line)
    return sections[place - 1].name if place else ""


# A search through years of days parses thousands of names, the same at each search.
_DAYS: dict[str, str] = {}
_REMEMBER = 8192
_RANKED_PAGES = 5  # given if no line matches
_NO_LINE_NOTICE = "No line has this text."
_NOTHING_NOTICE = "No line has this exact text, and no page is about its words."
_RANKED_NOTICE = "No line has this exact text; ranked lists the pages that are about its words."


@value(kw_only=True)
class Query:
    """The text to look for, and where: everywhere, below a folder, on a page, in a range of days.

    `since` and `until` are days, both included; with either, only daily pages are searched. `keep`
    says which pages are searched, unless one page is named; None means every page.
    """

    text: str
    prefix: str = ""
    filename: str = ""
    section: str = ""
    since: str = ""
    until: str = ""
    limit: int = 50
    context: int = 2
    keep: Filter | None = None


def search(
    store: Store,
    shelf: Shelf,
    query: Query,
    *,
    index: PageFinder | None = None,
    bounds: Bounds = BOUNDS,
    beside: Sequence[Place] = (),
) -> SearchResults:
    """Find the lines that hold a text, whatever its case: daily pages newest first, others by name.

    An index says which pages match; every match in the result is still read from its page. The
    pages of `beside` come last, but half of the matches may be theirs.
    """
    needle = _check_query(query).encode()
    others = _build_collector(needle, query, (query.limit + 1) // 2, bounds)
    others_total = others_files = 0
    for place in beside:
        found = _collect(place, query, others)
        others_total, others_files = others_total + found[0], others_files + found[1]
    collector = _build_collector(needle, query, query.limit, bounds)
    collector.make_room_for(others)
    total, files, freshness = _collect((store, shelf, index), query, collector)
    total, files = total + others_total, files + others_files
    if total == 0 and not query.section and is_question(query.text):
        hits = rank_pages(
            store,
            shelf,
            query.text,
            index=index,
            limit=_RANKED_PAGES,
            keep=_build_filter(query),
            beside=beside,
        )
        notice = _RANKED_NOTICE if hits else _NOTHING_NOTICE
        return SearchResults(
            matches=(), total=0, files=0, freshness=freshness, ranked=tuple(hits), notice=notice
        )
    notices = dict.fromkeys((collector.notice(total), others.notice(others_total)))
    matches = (*collector.matches, *others.matches)
    notice = " ".join(filter(None, notices)) if total else _NO_LINE_NOTICE
    return SearchResults(
        matches=matches, total=total, files=files, freshness=freshness, ranked=(), notice=notice
    )


def _build_collector(needle: bytes, query: Query, limit: int, bounds: Bounds) -> MatchCollector:
    return MatchCollector(needle, query.section, limit, query.context, bounds)


def _collect(place: Place, query: Query, collector: MatchCollector) -> tuple[int, int, str]:
    """Collect the matches of a shelf; count its lines and its pages, and say how fresh that is."""
    store, shelf, index = place
    folded_text = query.text.casefold()
    if query.filename:
        if read_content(store, shelf, query.filename) is None:
            raise PageMissing(query.filename, shelf.name)
        counts, freshness = [(query.filename, 1)], describe_freshness(1, "read")
    else:
        answer = index.matching(shelf, query.prefix, folded_text) if index is not None else None
        counts, freshness = answer or _scan(store, shelf, query, folded_text.encode())
    collector.layer = shelf.layer
    total = files = 0
    for filename, line_count in _order_pages(counts, query):
        count = line_count
        # Only the page itself has its sections and its present text.
        if collector.has_room or query.section or query.filename:
            content = read_content(store, shelf, filename)
            count = 0 if content is None else collector.add(filename, content)
        total += count
        files += count > 0
    return total, files, freshness


def _check_query(query: Query) -> str:
    """Return the folded text of a query that can be answered."""
    if not query.text:
        raise InvalidQuery(query.text, "it is empty")
    if "\n" in query.text:
        raise InvalidQuery(query.text, "a match never spans lines")
    if query.limit < 0 or query.context < 0:
        raise InvalidQuery(query.text, "limit and context cannot be negative")
    folded_text = query.text.casefold()
    try:
        folded_text.encode()
    except UnicodeEncodeError:
        raise InvalidQuery(query.text, "it is not valid Unicode") from None
    for day in (query.since, query.until):
        if day and parse_date(day) is None:
            raise InvalidDate(day)
    if query.prefix:
        check_folder(query.prefix)
    return folded_text


def _scan(store: Store, shelf: Shelf, query: Query, needle: bytes) -> tuple[Counts, str]:
    """Count the matching lines of every page that the query can mean."""
    names = [entry.filename for entry in store.list_subtree(shelf, query.prefix)]
    if keep := _build_filter(query):
        names = [filename for filename in names if keep(filename)]
    counts = []
    for filename in names:
        content = read_content(store, shelf, filename)
        if content is not None and (count := count_lines(fold_content(content), needle)):
            counts.append((filename, count))
    return counts, describe_freshness(len(names), "read")


def _build_filter(query: Query) -> Filter | None:
    """Build the function that says whether a page is searched, or None if all pages are."""
    if query.filename:
        return lambda filename: filename == query.filename
    keep = query.keep
    if query.since or query.until:
        return lambda filename: _is_in_range(filename, query) and (keep is None or keep(filename))
    if query.prefix:
        start = f"{query.prefix}/"
        return lambda filename: filename.startswith(start) and (keep is None or keep(filename))
    return keep


def _order_pages(counts: Counts, query: Query) -> Counts:
    """Sort pages by name first, then days from the newest, and leave out what is not searched."""
    pages: Counts = []
    days: Counts = []
    keep = _build_filter(query)
    for pair in counts:
        if keep is not None and not keep(pair[0]):
            continue
        (days if _find_day(pair[0]) else pages).append(pair)
    return sorted(pages) + sorted(days, reverse=True)


def _is_in_range(filename: str, query: Query) -> bool:
    day = _find_day(filename)
    return bool(day) and query.since <= day and (not query.until or day <= query.until)


def _find_day(filename: str) -> str:
    """Return the day whose page this is, as YYYY-MM-DD, else ""."""
    day = _DAYS.get(filename)
    if day is None:
        day = str(day_of(filename) or "")
        if len(_DAYS) < _REMEMBER:
            _DAYS[filename] = day
    return day


def describe_freshness(files: int, action: str) -> str:
    """Describe the freshness of an answer: the number of files, and the present time."""
    moment = format_time(now())
    return f"{files} file{'' if files == 1 else 's'} {action} at {moment}"


# The pages of a moment in the past that a search can see.


class VisiblePages(PastPages):
    """Past pages without those whose versions of that moment are no longer kept.

    `unseen_names` has the names of those that a caller has tried to read.
    """

    def __init__(
        self, store: Store, history: History, moment: float, read_known: ReadKnown | None = None
    ) -> None:
        super().__init__(store, history, moment, read_known)
        self.unseen_names: set[str] = set()

    def read(self, scope: Scope) -> Found | Missing:
        """Read a page as it was; the name of a page without its version is noted."""
        try:
            return super().read(scope)
        except RevisionMissing:
            self.unseen_names.add(scope.filename)
            return Missing()
