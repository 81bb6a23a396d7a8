"""The daily journal: a year as a heat map, a day as text, and a search over all days."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from looseleaf.errors import Forbidden, Invalid, LooseleafError
from looseleaf.memory.day import day_of, parse_date
from looseleaf.memory.hidden_characters import describe_hidden
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.times import (
    DAY_SECONDS,
    compute_day_start,
    format_date,
    parse_time,
    weekday_of,
)
from looseleaf.values import value
from looseleaf.web.admin.views.pages import build_page_link, cut_part, render_page

if TYPE_CHECKING:
    from collections.abc import Mapping

    from looseleaf.memory.search.results import SearchResults
    from looseleaf.operations.daily import DayText
    from looseleaf.plugins.admin_pages import Visit


# A year of the journal as a calendar: a square per day, darker where more was written.


LEVELS = 4  # of shades, besides that of a day without a page
STEP = 14  # from one square to the next, in units of the drawing
LEFT, TOP = 30, 18  # room for the names of weekdays and months
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


@value(kw_only=True)
class Square:
    """One day: its place in the drawing, the bytes of its page and its shade."""

    date: str
    title: str
    x: int
    y: int
    bytes: int
    level: int
    is_chosen: bool


@value
class Month:
    """A month: where its name stands, and its days that have a page."""

    name: str
    x: int
    days: tuple[Square, ...]


@value
class HeatMap:
    """A whole year."""

    year: int
    squares: tuple[Square, ...]
    months: tuple[Month, ...]
    width: int
    height: int
    day_count: int  # days that have a page

    @property
    def blank_days(self) -> str:
        """The outline of all days without a page, as one path, since a new year has many."""
        return "".join(
            f"M{square.x} {square.y}h11v11h-11z" for square in self.squares if not square.level
        )


def build_heat_map(year: int, sizes: Mapping[str, int], day: str) -> HeatMap:
    """Render a year; `sizes` has the bytes of each day's page by its date."""
    first, offset = compute_day_start(year, 1, 1), weekday_of(year, 1, 1)
    dates = [format_date(first + number * DAY_SECONDS) for number in range(366)]
    dates = [date for date in dates if date.startswith(f"{year:04}-")]
    largest = max(sizes.get(date, 0) for date in dates)
    squares = tuple(
        _build_square(date, offset + number, sizes.get(date), largest, is_chosen=date == day)
        for number, date in enumerate(dates)
    )
    months = tuple(
        _build_month(squares, f"{year:04}-{number:02}", name)
        for number, name in enumerate(MONTHS, 1)
    )
    count = sum(1 for square in squares if square.level)
    return HeatMap(year, squares, months, squares[-1].x + STEP, TOP + 7 * STEP, count)


def _build_month(squares: tuple[Square, ...], month: str, name: str) -> Month:
    days = [square for square in squares if square.date.startswith(month)]
    return Month(name[:3], days[0].x, tuple(square for square in days if square.level))


def _build_square(
    text: str, place: int, size: int | None, largest: int, *, is_chosen: bool
) -> Square:
    """Render a day; `place` counts the days from the Monday of the first week."""
    level = 0 if size is None else 1 + min(LEVELS - 1, LEVELS * size // (largest + 1))
    x, y = LEFT + STEP * (place // 7), TOP + STEP * (place % 7)
    return Square(
        date=text, title=name_day(text), x=x, y=y, bytes=size or 0, level=level, is_chosen=is_chosen
    )


def name_day(text: str) -> str:
    """Write a date for people: Friday, 17 April 2026."""
    year, month, day = (int(part) for part in text.split("-"))
    return f"{WEEKDAYS[weekday_of(year, month, day)]}, {day} {MONTHS[month - 1]} {year}"


SWITCH_ON = "switch on"
CONTEXT_LINES = 2  # before and after a match


@value
class JournalMatch:
    """A match in the journal, with the lines around it."""

    date: str
    title: str
    line: int
    section: str
    text: str


def show_journal(visit: Visit) -> Document | Redirect:
    """Show the journal of an agent: a year, one day of it, and the matches of a search."""
    agent = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    status = visit.run("looseleaf/show-status", agent=agent.slug)
    sizes = _list_sizes(visit, agent.slug)
    today = format_date(visit.context.clock())
    date = (
        visit.query.get("day", "").strip()
        or _find_newest_day(sizes, visit.query.get("year"))
        or today
    )
    day: DayText = visit.run("datamachine/daily-memory-read", agent=agent.slug, date=date)
    data = {
        "agent": agent,
        "is_open": status.journal,
        "is_in_prompts": agent.configuration.daily_memory.enabled,
        "may_switch": _may_switch(visit),
        "count": len(sizes),
        "map": build_heat_map(int(day.date[:4]), sizes, day.date),
        "years": sorted({date[:4] for date in sizes} | {today[:4]}, reverse=True),
        "today": today,
        **_describe_day(day, agent.slug, sizes, visit.query.get("part", "")),
        **_search(visit, agent.slug),
    }
    return Document("memory/journal.html", "Journal", data)


def _list_sizes(visit: Visit, agent: str) -> dict[str, int]:
    """Return the bytes of every day's page by its date, oldest first."""
    files = visit.run("datamachine/list-agent-files", agent=agent, layer="agent", daily=True)
    days = {str(day): file.bytes for file in files if (day := day_of(file.file)) is not None}
    return dict(sorted(days.items()))


def _find_newest_day(sizes: dict[str, int], year: str | None) -> str:
    """Find the newest day with a page, within a year if one is given."""
    days = [date for date in sizes if not year or date.startswith(f"{year}-")]
    if not days and year and parse_date(f"{year}-01-01"):
        return f"{year}-01-01"
    return days[-1] if days else ""


def _may_switch(visit: Visit) -> bool:
    try:
        visit.context.with_permission("settings").allow()
    except Forbidden:
        return False
    return True


def _describe_day(
    day: DayText, agent: str, sizes: dict[str, int], part_number: str
) -> dict[str, object]:
    days = list(sizes)
    before = [date for date in days if date < day.date]
    after = [date for date in days if date > day.date]
    part = cut_part(day.content, part_number)
    return {
        "day": day,
        "day_title": name_day(day.date),
        "html": render_page(day.content, agent, "agent") if day.exists else "",
        "part": part,
        "hidden": describe_hidden(part.text),
        "edit_link": build_page_link(agent, "agent", day.file, "edit"),
        "history_link": build_page_link(agent, "agent", day.file, "history"),
        "before": before[-1] if before else "",
        "after": after[0] if after else "",
    }


def _search(visit: Visit, agent: str) -> dict[str, object]:
    query = visit.query.get("q", "").strip()
    since, until = (visit.query.get(name, "").strip() for name in ("since", "until"))
    data = {"query": query, "since": since, "until": until, "matches": [], "total": 0}
    data |= {"notice_text": "", "refusal": "", "earlier": ""}
    if not query:
        return data
    try:
        results: SearchResults = visit.run(
            "datamachine/search-daily-memory",
            query=query,
            since=since or None,
            until=until or None,
            lines=CONTEXT_LINES,
            agent=agent,
        )
    except LooseleafError as error:
        return data | {"refusal": str(error)}
    matches = [
        JournalMatch(
            str(day), name_day(str(day)), match.line, match.section, match.context or match.content
        )
        for match in results.matches
        if (day := day_of(match.filename)) is not None
    ]
    data |= {"matches": matches, "total": results.total, "notice_text": results.notice}
    if len(matches) < results.total:
        data |= _link_earlier(visit, agent, matches)
    return data


def _link_earlier(visit: Visit, agent: str, matches: list[JournalMatch]) -> dict[str, object]:
    """Leave out the last day of a cut answer, which may have more lines, and link to it."""
    last = matches[-1].date
    whole_days = [match for match in matches if match.date != last]
    until = last if whole_days else _day_before(last)
    query = {name: visit.query[name] for name in ("q", "since") if visit.query.get(name)}
    address = f"/admin/agents/{quote(agent)}/journal?{urlencode({**query, 'until': until})}"
    return {"matches": whole_days or matches, "earlier": address}


def _day_before(date: str) -> str:
    return format_date(parse_time(f"{date}T00:00:00Z") - 1)


def change_journal(visit: Visit) -> Document | Redirect:
    """Add to a day, or switch the journal on."""
    agent = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    address = f"/admin/agents/{agent.slug}/journal"
    if visit.form.get("action") == SWITCH_ON:
        visit.run("looseleaf/set-setting", name="daily_memory_enabled", setting=True)
        return Redirect(address, "The journal is on: agents and people may write it.")
    text = visit.form.get("content", "").replace("\r\n", "\n").strip()
    if not text:
        raise Invalid("Write a line that the journal should have.")
    result = visit.run(
        "datamachine/daily-memory-write",
        content=text,
        date=visit.form.get("day", ""),
        mode="append",
        agent=agent.slug,
    )
    day = str(day_of(result.filename))
    notice = " ".join([f"Added to {name_day(day)}, revision {result.revision}.", *result.warnings])
    return Redirect(f"{address}?{urlencode({'day': day})}", notice)
