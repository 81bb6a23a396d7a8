"""Times are written and read in UTC, to the last microsecond, and a day is a day that there is."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf import times

LAST = 253_402_300_799
MOMENT = 1_776_418_205.25  # 2026-04-17 09:30:05.25

seconds = st.floats(0, LAST, allow_nan=False)


@given(seconds)
def test_times_are_written_as_the_calendar_has_them(moment: float) -> None:
    """The standard library, which is slow to import, says the same."""
    calendar = datetime.fromtimestamp(moment // 1, UTC)
    assert times.format_date(moment) == calendar.strftime("%Y-%m-%d").zfill(10)
    assert times.format_clock(moment) == calendar.strftime("%H:%M:%S")
    assert times.format_time(moment) == f"{calendar.replace(tzinfo=None).isoformat()}Z"
    exact = datetime.fromtimestamp(moment, UTC).replace(tzinfo=None)
    assert times.format_microseconds(moment) == exact.isoformat(timespec="microseconds") + "Z"


@given(seconds)
def test_a_time_is_written_and_read_back(moment: float) -> None:
    """To the microsecond."""
    assert abs(times.parse_time(times.format_microseconds(moment)) - moment) < 1e-4


def test_each_format_has_its_form() -> None:
    """For people, for programs and for the original plugin."""
    assert times.format_date(MOMENT) == "2026-04-17"
    assert times.format_minute(MOMENT) == "2026-04-17 09:30"
    assert times.format_clock(MOMENT) == "09:30:05"
    assert times.format_time(MOMENT) == "2026-04-17T09:30:05Z"
    assert times.format_time(MOMENT, "+00:00") == "2026-04-17T09:30:05+00:00"
    assert times.format_microseconds(MOMENT) == "2026-04-17T09:30:05.250000Z"


@pytest.mark.parametrize("moment", [-1.0, -1e18, 1e18, LAST + 1.0])
def test_an_impossible_time_can_still_be_written(moment: float) -> None:
    """Files can have times that no calendar has."""
    assert times.format_microseconds(moment) in (
        "1970-01-01T00:00:00.000000Z",
        "9999-12-31T23:59:59.000000Z",
    )
    assert times.format_date(moment) in ("1969-12-31", "0001-01-01", "9999-12-31")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-04-17T09:30:05.25Z", MOMENT),
        ("2026-04-17T09:30:05.25", MOMENT),
        ("2026-04-17T11:30:05.25+02:00", MOMENT),
        ("2026-04-17", MOMENT - MOMENT % times.DAY_SECONDS),
    ],
)
def test_a_time_without_a_zone_is_utc(text: str, moment: float) -> None:
    """And one with a zone is not."""
    assert times.parse_time(text) == moment


@pytest.mark.parametrize("text", ["", "yesterday", "2026-02-30", "17.04.2026"])
def test_what_is_no_time_is_refused(text: str) -> None:
    """As any parser does."""
    with pytest.raises(ValueError, match=r"format|month|day"):
        times.parse_time(text)


@pytest.mark.parametrize(
    ("text", "duration"),
    [("30s", 30), ("15m", 900), ("12h", 43_200), ("90d", 7_776_000), ("2w", 1_209_600)]
    + [(text, 0) for text in ("", "m", "15", "1.5h", "-3d", "3 d", "15M", "٣d", "9" * 400 + "d")],
)
def test_a_duration_is_a_number_and_a_unit(text: str, duration: int) -> None:
    """Everything else is no duration, and nothing is too long to be looked at."""
    assert times.parse_duration(text) == duration


@given(st.integers(0, 10_000), st.integers(0, 99), st.integers(0, 99))
def test_a_day_is_one_that_there_is(year: int, month: int, day: int) -> None:
    """Of the years that have four digits."""
    try:
        date(year, month, day)
        exists = True
    except ValueError:
        exists = False
    assert times.is_calendar_day(f"{year:04}", f"{month:02}", f"{day:02}") is exists
    assert not times.is_calendar_day(f"{year:04}", f"{month:02}", f" {day % 10}")


@given(st.dates())
def test_days_begin_at_midnight_and_have_weekdays(day: date) -> None:
    """As the calendar has them."""
    start = times.compute_day_start(day.year, day.month, day.day)
    assert datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=start) == datetime(
        day.year, day.month, day.day, tzinfo=UTC
    )
    assert times.weekday_of(day.year, day.month, day.day) == day.weekday()


def test_the_clock_of_the_machine_runs() -> None:
    """Seconds since 1970, never before this was written."""
    assert times.now() > MOMENT
