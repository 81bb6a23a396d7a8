"""A year as squares: every day once, in its week, darker where more was written."""

from __future__ import annotations

from datetime import date

import pytest

from looseleaf.web.admin.views.journal import LEVELS, STEP, build_heat_map, name_day


@pytest.mark.parametrize(("year", "count"), [(2026, 365), (2024, 366), (1, 365)])
def test_every_day_of_a_year_has_a_square_of_its_own(year: int, count: int) -> None:
    """Weekdays in rows, weeks in columns."""
    squares = build_heat_map(year, {}, "").squares
    assert len(squares) == len({(square.x, square.y) for square in squares}) == count
    assert len({square.y for square in squares}) == 7
    for square in squares[:-7]:
        after = squares[squares.index(square) + 7]
        assert (after.x - square.x, after.y) == (STEP, square.y)
    first = squares[0]
    assert (first.y - min(square.y for square in squares)) // STEP == date(year, 1, 1).weekday()


def test_more_bytes_are_darker() -> None:
    """A day with a page is never as pale as one without, not even an empty page."""
    sizes = {"2026-04-17": 4000, "2026-04-18": 10, "2026-04-19": 0, "2025-04-17": 99}
    heat_map = build_heat_map(2026, sizes, "2026-04-18")
    levels = {square.date: square.level for square in heat_map.squares if square.level}
    assert levels == {"2026-04-17": LEVELS, "2026-04-18": 1, "2026-04-19": 1}
    assert [square.date for square in heat_map.squares if square.is_chosen] == ["2026-04-18"]
    assert heat_map.day_count == 3
    assert heat_map.blank_days.count("z") == 362
    assert [month.name for month in heat_map.months if month.days] == ["Apr"]


def test_a_day_is_named_for_people() -> None:
    """With its weekday."""
    assert name_day("2026-04-17") == "Friday, 17 April 2026"
