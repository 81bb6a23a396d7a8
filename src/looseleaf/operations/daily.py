"""The daily journal: read, write, list, search, delete."""

from __future__ import annotations

from looseleaf.errors import Invalid
from looseleaf.memory.pages import decoded
from looseleaf.memory.store import Missing
from looseleaf.operations.catalog import operation
from looseleaf.operations.context import HERE, Where, allow_page, settled, shelf_of
from looseleaf.operations.moment import at
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from looseleaf.memory.daily import DailyMemory
    from looseleaf.memory.find import Index
    from looseleaf.memory.pages import Saved
    from looseleaf.memory.search import Results
    from looseleaf.memory.store import Deleted
    from looseleaf.operations.context import Context

ANY_DAY = "daily/2026/01/01.md"  # all days are alike to permissions


@value
class DayText:
    """One day of the journal; a day without a page has `exists` false and no content."""

    date: str
    file: str
    exists: bool
    content: str
    hash: str


def journal(context: Context, where: Where, *, index: Index | None = None) -> DailyMemory:
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
    context: Context, date: str | None = None, *, where: Where = HERE, as_of: str = ""
) -> DayText:
    """Read one day of the journal; without a date, today in UTC."""
    daily = journal(context, where)
    day = daily.day(date)
    if as_of:
        raw = at(context.history, daily.shelf.page(day.filename), as_of)
        return DayText(str(day), day.filename, True, decoded(day.filename, raw), "")
    page = daily.read(str(day))
    if isinstance(page, Missing):
        return DayText(str(day), day.filename, False, "", "")
    return DayText(str(day), day.filename, True, decoded(day.filename, page.content), page.hash)


@operation(
    "datamachine/daily-memory-write",
    permission="write",
    categories=("memory", "daily"),
    versioned=True,
)
def write_day(
    context: Context,
    content: str,
    date: str | None = None,
    *,
    mode: Literal["append", "write"] = "append",
    where: Where = HERE,
    if_match: str | None = None,
    allow_shrink: bool = False,
) -> Saved:
    """Append to one day of the journal, or replace it whole; without a date, today in UTC."""
    daily = journal(context, where)
    if mode not in ("append", "write"):
        raise Invalid(f"mode is append or write, not {mode!r}.")
    change = context.change(mode, if_match=if_match, allow_shrink=allow_shrink)
    if mode == "append":
        return daily.append(date, content, change=change)
    outcome = daily.write(date, content, change=change)
    return settled(daily.day(date).filename, outcome)


@operation(
    "datamachine/daily-memory-list",
    permission="read",
    categories=("memory", "daily"),
    read_only=True,
)
def list_days(context: Context, *, where: Where = HERE) -> dict[str, list[str]]:
    """List the days of the journal by month, newest month first."""
    return journal(context, where).list_all()


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
    where: Where = HERE,
) -> Results:
    """Find a text in the journal, newest day first; both ends of the range are included."""
    daily = journal(context, where, index=context.index())
    return daily.search(query, since=since, until=until, context=lines)


@operation(
    "datamachine/daily-memory-delete",
    permission="write",
    categories=("memory", "daily"),
    destructive=True,
    versioned=True,
)
def delete_day(
    context: Context, date: str, *, where: Where = HERE, if_match: str | None = None
) -> Deleted:
    """Delete one day of the journal; its text stays in the history."""
    daily = journal(context, where)
    outcome = daily.delete(date, change=context.change("delete", if_match=if_match))
    return settled(daily.day(date).filename, outcome)
