"""The daily journal of one agent: one page for each day, in UTC, never cleared by itself."""

from __future__ import annotations

from looseleaf.errors.pages import PageMissing
from looseleaf.memory.day import FOLDER, Day, day_of, resolve_day
from looseleaf.memory.search.results import BOUNDS
from looseleaf.memory.search.substring import Query
from looseleaf.memory.search.substring import search as search_pages
from looseleaf.memory.sections import append_lines
from looseleaf.memory.store import Missing
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.memory.pages import MemoryPages, Saved
    from looseleaf.memory.scope import Scope, Shelf
    from looseleaf.memory.search.ranking import Index
    from looseleaf.memory.search.results import Bounds, SearchResults
    from looseleaf.memory.store import Change, Conflict, Deleted, Found

_FIRST = "0001-01-01"  # the default of `since`: with it, a search finds only pages of days


class DailyMemory:
    """The journal of one agent. Dates are YYYY-MM-DD; without a date, today in UTC is meant."""

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
        """Return the present day in UTC."""
        return resolve_day(None, self.clock())

    def day(self, text: str | None) -> Day:
        """Parse a date, or raise `InvalidDate`; None and "" mean today."""
        return resolve_day(text, self.clock())

    def scope(self, text: str | None = None) -> Scope:
        """Name the page of a day."""
        return self.shelf.page(self.day(text).filename)

    def read(self, text: str | None = None) -> Found | Missing:
        """Read a day's page."""
        return self.pages.read(self.scope(text))

    def exists(self, text: str | None = None) -> bool:
        """Return whether a day has a page."""
        return self.pages.exists(self.scope(text))

    def write(
        self, text: str | None, content: str, *, change: Change, if_match: str | None = None
    ) -> Saved | Conflict:
        """Replace the whole page of a day."""
        return self.pages.write(self.scope(text), content, change=change, if_match=if_match)

    def append(self, text: str | None, content: str, *, change: Change) -> Saved:
        """Append to a day's page; a new page begins with the date as its title."""
        day = self.day(text)
        scope = self.shelf.page(day.filename)

        def add(page: str) -> str:
            # An emptied page still exists, and has lost its title on purpose.
            head = page or ("" if self.pages.exists(scope) else day.heading)
            return append_lines(head, content)

        addition = replace(change, operation="append")
        return self.pages.edit(scope, add, change=addition, replacement=content)

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
        bounds: Bounds = BOUNDS,
    ) -> SearchResults:
        """Find a text in the journal, newest day first; both ends of the range are included."""
        search_query = Query(
            text=query,
            prefix=FOLDER,
            since=str(self.day(since)) if since else _FIRST,
            until=str(self.day(until)) if until else "",
            context=context,
            limit=limit,
        )
        store = self.pages.store_for(self.shelf)
        return search_pages(store, self.shelf, search_query, index=self.index, bounds=bounds)

    def require(self, text: str | None = None) -> Found:
        """Read a day's page, or raise `PageMissing`."""
        page = self.read(text)
        if isinstance(page, Missing):
            raise PageMissing(str(self.day(text)), "the daily journal")
        return page
