"""The daily journal: read, write, list, search, delete."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import allow_page, require_outcome, shelf_of
from looseleaf.errors import Invalid
from looseleaf.memory.day import Day
from looseleaf.memory.pages import Saved, decode_text
from looseleaf.memory.scope import DEFAULT_WHERE, Where
from looseleaf.memory.search.results import SearchResults
from looseleaf.memory.store import Deleted, Missing
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from looseleaf.catalog.context import Context
    from looseleaf.memory.daily import DailyMemory
    from looseleaf.memory.search.ranking import Index

ANY_DAY = Day("2026", "01", "01").filename  # permissions are the same for all days


@value
class DayText:
    """One day of the journal; a day without a page has `exists` false and no content."""

    date: str
    file: str
    exists: bool
    content: str
    hash: str
    updated: float = 0.0  # seconds since 1970, or 0 if no page of the present is meant


def open_journal(context: Context, where: Where, *, index: Index | None = None) -> DailyMemory:
    """Open the journal of the agent in question, if the operation is allowed on it."""
    from looseleaf.memory.daily import DailyMemory

    shelf = shelf_of(context, where, "agent")
    if not context.principal.is_local:
        allow_page(context, shelf.page(ANY_DAY))
    return DailyMemory(context.pages, shelf, clock=context.clock, index=index)


@operation(
    "datamachine/daily-memory-read",
    permission="read",
    categories=("memory", "daily"),
    read_only=True,
)
def read_day(
    context: Context, date: str | None = None, *, where: Where = DEFAULT_WHERE, as_of: str = ""
) -> DayText:
    """Read one day of the journal; without a date, today in UTC.

    Arguments:
        date: The day to read, as YYYY-MM-DD in UTC; without it, today.
        as_of: A revision number or a UTC time, to read what the day's page said then; without it,
            what it says now.
    """
    daily = open_journal(context, where)
    day = daily.day(date)
    if as_of:
        raw = context.read_past(daily.shelf.page(day.filename), as_of)
        return DayText(str(day), day.filename, True, decode_text(day.filename, raw), "")
    page = daily.read(str(day))
    if isinstance(page, Missing):
        return DayText(str(day), day.filename, False, "", "")
    content = decode_text(day.filename, page.content)
    return DayText(str(day), day.filename, True, content, page.hash, page.updated)


@operation(
    "datamachine/daily-memory-write",
    permission="write",
    categories=("memory", "daily"),
    changes_page=True,
)
def write_day(
    context: Context,
    content: str,
    date: str | None = None,
    *,
    mode: Literal["append", "write"] = "append",
    where: Where = DEFAULT_WHERE,
    if_match: str | None = None,
    allow_shrink: bool = False,
) -> Saved:
    """Append to one day of the journal, or replace it whole; without a date, today in UTC.

    Arguments:
        content: Markdown: the lines to add to the day if mode is append, the day's whole new
            text if mode is write.
        date: The day to write to, as YYYY-MM-DD in UTC; without it, today.
        mode: append adds lines to the end of the day; write replaces the whole day.
        if_match: The hash of the version that may be changed, as a read gave it, or absent for a
            page that must not exist yet; any other version is refused.
        allow_shrink: Whether the page may lose most of its text or end in a placeholder such as
            "[rest unchanged]", which is refused otherwise.
    """
    daily = open_journal(context, where)
    if mode not in ("append", "write"):
        raise Invalid(f"mode is append or write, not {mode!r}.")
    change = context.change(mode, if_match=if_match, allow_shrink=allow_shrink)
    if mode == "append":
        return daily.append(date, content, change=change)
    outcome = daily.write(date, content, change=change)
    return require_outcome(daily.day(date).filename, outcome)


@operation(
    "datamachine/daily-memory-list",
    permission="read",
    categories=("memory", "daily"),
    read_only=True,
)
def list_days(context: Context, *, where: Where = DEFAULT_WHERE) -> dict[str, list[str]]:
    """List the days of the journal by month, newest month first."""
    return open_journal(context, where).list_all()


@operation(
    "datamachine/search-daily-memory",
    permission="read",
    categories=("memory", "daily"),
    read_only=True,
)
def search_days(
    context: Context,
    query: str,
    *,
    since: str | None = None,
    until: str | None = None,
    lines: int = 2,
    where: Where = DEFAULT_WHERE,
) -> SearchResults:
    """Find a text in the journal, newest day first; both ends of the range are included.

    Arguments:
        query: The exact text to find in the journal; upper and lower case are the same.
        since: The first day that is searched, as YYYY-MM-DD; without it, the oldest.
        until: The last day that is searched, as YYYY-MM-DD; without it, the newest.
        lines: How many lines before and after each match are given with it.
    """
    daily = open_journal(context, where, index=context.index())
    return daily.search(query, since=since, until=until, context=lines)


@operation(
    "datamachine/daily-memory-delete",
    permission="write",
    categories=("memory", "daily"),
    destructive=True,
    changes_page=True,
)
def delete_day(
    context: Context, date: str, *, where: Where = DEFAULT_WHERE, if_match: str | None = None
) -> Deleted:
    """Delete one day of the journal; its text stays in the history.

    Arguments:
        date: The day to delete, as YYYY-MM-DD in UTC.
        if_match: The hash of the version that may be changed, as a read gave it, or absent for a
            page that must not exist yet; any other version is refused.
    """
    daily = open_journal(context, where)
    outcome = daily.delete(date, change=context.change("delete", if_match=if_match))
    return require_outcome(daily.day(date).filename, outcome)
