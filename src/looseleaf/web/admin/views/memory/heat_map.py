"""A year of the journal as a calendar: a square per day, darker where more was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.times import DAY_SECONDS, compute_day_start, format_date, weekday_of
from looseleaf.values import value

if TYPE_CHECKING:
    from collections.abc import Mapping

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
