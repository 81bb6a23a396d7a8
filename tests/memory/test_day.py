"""A day has one page, whose name is made and read in one place."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.errors import InvalidDate, InvalidName
from looseleaf.memory.day import Day, check_day, day_of, is_in_journal, parse_date, resolve_day
from looseleaf.memory.scope import check_filename


@given(st.dates(date(1000, 1, 1)))
def test_a_day_is_read_back_from_the_name_of_its_page(day: date) -> None:
    """And from its date."""
    known = parse_date(day.isoformat())
    assert known is not None
    assert day_of(known.filename) == known
    assert str(known) == day.isoformat()
    assert known.filename == f"daily/{day:%Y/%m/%d}.md"
    assert known.heading == f"# {day.isoformat()}\n\n"
    assert check_filename(known.filename) == known.filename


def test_no_date_means_today() -> None:
    """In UTC."""
    assert resolve_day(None, 86_399.9) == resolve_day("", 0.0) == Day("1970", "01", "01")
    assert str(resolve_day(None, 86_400.0)) == "1970-01-02"
    assert str(resolve_day("2026-04-17", 0.0)) == "2026-04-17"
    assert Day("1970", "01", "02").timestamp == 86_400


@pytest.mark.parametrize("text", ["2026-02-30", "today", "2026-4-17", "17-04-2026"])
def test_what_is_no_date_is_refused(text: str) -> None:
    """By the error that says how a date is written."""
    with pytest.raises(InvalidDate):
        resolve_day(text, 0.0)


@pytest.mark.parametrize(
    "name", ["daily/2026/02/30.md", "Daily/2026/13/01.MD", "daily/0000/01/01.md"]
)
def test_a_name_shaped_like_a_day_must_be_one(name: str) -> None:
    """No page can have it, by whatever way it is asked for."""
    for check in (check_day, check_filename):
        with pytest.raises(InvalidName, match="there is no such day; a day is daily/"):
            check(name)


@pytest.mark.parametrize("name", ["daily/notes.md", "daily/2026/04/notes.md", "a/2026/02/30.md"])
def test_other_names_are_free(name: str) -> None:
    """Also in the folder of the journal."""
    assert check_filename(name) == name
    assert day_of(name) is None


def test_the_folder_of_the_journal_is_known_however_it_is_written() -> None:
    """Permissions and lists ask the same function."""
    assert [is_in_journal(name) for name in ("daily/2026/04/17.md", "DAILY/x.md")] == [True, True]
    assert [is_in_journal(name) for name in ("daily.md", "a/daily/x.md", "dailyx/x.md")] == [
        False
    ] * 3
