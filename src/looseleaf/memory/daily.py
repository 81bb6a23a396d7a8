"""The daily journal of one agent: a page a day, in UTC, never cleared by itself."""

from __future__ import annotations

from datetime import UTC, date, datetime

from looseleaf.errors import InvalidDate, PageMissing
from looseleaf.memory.search import Query
from looseleaf.memory.search import search as search_pages
from looseleaf.memory.sections import append_lines
from looseleaf.memory.store import Missing
from looseleaf.values import changed, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.memory.pages import MemoryPages, Saved
    from looseleaf.memory.scope import Scope, Shelf
    from looseleaf.memory.search import Index, Results
    from looseleaf.memory.store import Change, Conflict, Deleted, Found

FOLDER = "daily"
_SHAPE = (4, 2, 2)
_FIRST = "0001-01-01"  # a search with a bound looks at days only


@value
class Day:
    """A calendar day as the parts of its page's name."""

    year: str
    month: str
    day: str

    @property
    def filename(self) -> str:
        """The page of the day: daily/YYYY/MM/DD.md."""
        return f"{FOLDER}/{self.year}/{self.month}/{self.day}.md"

    @property
    def timestamp(self) -> int:
        """When the day begins in UTC, in seconds since 1970."""
        year, month, day = map(int, (self.year, self.month, self.day))
        return int(datetime(year, month, day, tzinfo=UTC).timestamp())

    def __str__(self) -> str:
        return f"{self.year}-{self.month}-{self.day}"


def parse_date(text: str) -> Day | None:
    """Read YYYY-MM-DD; None unless it is a real day."""
    parts = text.split("-")
    if tuple(map(len, parts)) != _SHAPE or not all(
        part.isascii() and part.isdigit() for part in parts
    ):
        return None
    try:
        date(*map(int, parts))
    except ValueError:
        return None
    return Day(*parts)


def day_of(filename: str) -> Day | None:
    """Give the day whose page this is; None for any other page."""
    if not (filename.startswith(f"{FOLDER}/") and filename.endswith(".md")):
        return None
    return parse_date(filename[len(FOLDER) + 1 : -3].replace("/", "-"))


def day_named(text: str | None, now: float) -> Day:
    """Read a date, or raise `InvalidDate`; None and "" are the day of now, in UTC."""
    if not text:
        today = datetime.fromtimestamp(now, UTC)
        return Day(f"{today.year:04}", f"{today.month:02}", f"{today.day:02}")
    found = parse_date(text)
    if found is None:
        raise InvalidDate(text)
    return found


class DailyMemory:
    """What happened, day by day. Dates are YYYY-MM-DD; without one, today in UTC is meant."""

    def __init__(
        self,
        pages: MemoryPages,
        shelf: Shelf,
        *,
        clock: Callable[[], float],
        index: Index | None = None,
    ) -> None:
        self.pages = pages
        self.shelf = shelf
        self.clock = clock
        self.index = index

    def today(self) -> Day:
        """Give the present day in UTC."""
        return day_named(None, self.clock())

    def day(self, text: str | None) -> Day:
        """Read a date, or raise `InvalidDate`; None and "" are today."""
        return day_named(text, self.clock())

    def scope(self, text: str | None = None) -> Scope:
        """Name the page of a day."""
        return self.shelf.page(self.day(text).filename)

    def read(self, text: str | None = None) -> Found | Missing:
        """Read a day's page."""
        return self.pages.read(self.scope(text))

    def exists(self, text: str | None = None) -> bool:
        """Say whether a day has a page."""
        return self.pages.exists(self.scope(text))

    def write(
        self, text: str | None, content: str, *, change: Change, if_match: str | None = None
    ) -> Saved | Conflict:
        """Replace a day's page whole."""
        return self.pages.write(self.scope(text), content, change=change, if_match=if_match)

    def append(self, text: str | None, content: str, *, change: Change) -> Saved:
        """Add to a day's page; a new one begins with the date as its title."""
        day = self.day(text)
        scope = self.shelf.page(day.filename)

        def add(page: str) -> str:
            # A page that was emptied is there, and has lost its title on purpose.
            head = page or ("" if self.pages.exists(scope) else f"# {day}\n\n")
            return append_lines(head, content)

        return self.pages.edit(scope, add, change=changed(change, operation="append"))

    def delete(
        self, text: str | None, *, change: Change, if_match: str | None = None
    ) -> Deleted | Conflict:
        """Remove a day's page; its text stays in the history."""
        return self.pages.delete(self.scope(text), change=change, if_match=if_match)

    def days(self) -> list[Day]:
        """List the days that have a page, oldest first."""
        entries = self.pages.list(self.shelf, FOLDER)
        return [day for entry in entries if (day := day_of(entry.filename)) is not None]

    def list_all(self) -> dict[str, list[str]]:
        """List the days by month, {"2026/03": ["01", "16"], …}: newest month first."""
        months: dict[str, list[str]] = {}
        for day in self.days():
            months.setdefault(f"{day.year}/{day.month}", []).append(day.day)
        return dict(sorted(months.items(), reverse=True))

    def list_months(self) -> list[str]:
        """List the months that have pages, newest first."""
        return list(self.list_all())

    def search(
        self,
        query: str,
        *,
        since: str | None = None,
        until: str | None = None,
        context: int = 2,
        limit: int = 50,
    ) -> Results:
        """Find a text in the journal, newest day first; both ends of the range are included."""
        asked = Query(
            query,
            prefix=FOLDER,
            since=str(self.day(since)) if since else _FIRST,
            until=str(self.day(until)) if until else "",
            context=context,
            limit=limit,
        )
        store = self.pages.store_for(self.shelf)
        return search_pages(store, self.shelf, asked, index=self.index)

    def require(self, text: str | None = None) -> Found:
        """Read a day's page, or raise `PageMissing`."""
        found = self.read(text)
        if isinstance(found, Missing):
            raise PageMissing(str(self.day(text)), "the daily journal")
        return found
