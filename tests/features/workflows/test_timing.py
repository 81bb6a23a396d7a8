"""Time plans are checked and read in the site's zone, and their next times follow from them."""

from __future__ import annotations

import pytest

from looseleaf.errors.features import InvalidSchedule
from looseleaf.features.workflows.schedules import (
    INTERVALS,
    Timing,
    compute_stagger,
    find_first_time,
    find_next_time,
    list_times,
    read_timing,
)
from looseleaf.times import compute_day_start, format_time

NOON = float(compute_day_start(2026, 4, 17) + 12 * 3600)


@pytest.mark.parametrize(
    ("interval", "options", "timing"),
    [
        ("daily", {}, Timing("daily")),
        ("every_6_hours", {}, Timing("qtrdaily")),
        ("every_12_hours", {}, Timing("twicedaily")),
        ("15m", {}, Timing("15m")),
        ("manual", {}, Timing()),
        ("cron", {"cron": "30 3 * * *"}, Timing("cron", "30 3 * * *")),
        ("30 3  * * MON", {}, Timing("cron", "30 3 * * MON")),
        ("@daily", {}, Timing("cron", "0 0 * * *")),
        ("0 0 ? * 1", {}, Timing("cron", "0 0 * * 1")),
        ("*/10 * * * * *", {}, Timing("cron", "*/10 * * * * *")),
        ("0 0 L * *", {}, Timing("cron", "0 0 L * *")),
        ("one_time", {"at": 5.0}, Timing("one_time", at=5.0)),
        ("one_time", {"at": "1970-01-01T00:00:09Z"}, Timing("one_time", at=9.0)),
    ],
)
def test_these_plans_can_be_kept(interval: str, options: dict[str, str], timing: Timing) -> None:
    """Keys, aliases, durations, cron and one time."""
    assert read_timing(interval, **options) == timing


@pytest.mark.parametrize(
    ("interval", "options", "why"),
    [
        ("yearly", {}, "available: cron, daily, every_12_hours"),
        ("", {}, "available"),
        ("0s", {}, "available"),
        ("cron", {}, "needs an expression"),
        ("one_time", {}, "needs a time"),
        ("one_time", {"at": "soon"}, "'soon' is no time"),
        ("60 * * * *", {}, "bad minute"),
        ("@often", {}, "the words are @annually"),
        ("0 0 30 2 *", {}, "bad day-of-month"),
        ("0 0 15W * *", {}, "bad day-of-month"),
        ("cron", {"cron": "0 " * 200}, "longer than"),
    ],
)
def test_these_plans_cannot_be_kept(interval: str, options: dict[str, str], why: str) -> None:
    """The error lists what there is."""
    with pytest.raises(InvalidSchedule, match=why):
        read_timing(interval, **options)


def test_the_keys_have_the_lengths_of_the_reference() -> None:
    """Ten of them, from five minutes to thirty days."""
    assert (INTERVALS["every_5_minutes"], INTERVALS["monthly"], len(INTERVALS)) == (
        300,
        2592000,
        10,
    )


@pytest.mark.parametrize(
    ("seed", "interval", "seconds"), [(42, 3600, 562), (1, 86400, 973), (42, 300, 262), (42, 0, 0)]
)
def test_first_runs_are_staggered_as_in_the_reference(
    seed: int, interval: int, seconds: int
) -> None:
    """By a checksum of the seed; without a seed there is no delay."""
    assert compute_stagger(seed, interval) == seconds
    assert compute_stagger(0, interval) == 0


def test_an_interval_keeps_its_phase() -> None:
    """Runs that were missed count as one, and the next is later than now."""
    hourly = Timing("hourly")
    first = find_first_time(hourly, NOON, seed=42)
    assert first == NOON + 562
    assert find_next_time(hourly, NOON, NOON) == NOON + 3600
    assert find_next_time(hourly, NOON, NOON + 3 * 3600 + 7) == NOON + 4 * 3600
    # A clock that was set back: the time that was due is over all the same.
    assert find_next_time(hourly, NOON, NOON - 3600) == NOON + 3600


def test_cron_follows_the_zone_of_the_site() -> None:
    """Also over the change to summer time, when an hour is left out."""
    nightly = read_timing("30 2 * * *")
    start = float(compute_day_start(2026, 3, 28))
    first = find_first_time(nightly, start, zone="Europe/Berlin")
    assert first is not None
    times = [format_time(time) for time in list_times(nightly, first, 3, zone="Europe/Berlin")]
    assert times[0] == "2026-03-28T01:30:00Z"
    assert times[1] in {"2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"}  # 02:30 does not exist
    assert times[2] == "2026-03-30T00:30:00Z"


def test_one_time_is_over_after_it() -> None:
    """A manual plan has no time at all."""
    once = Timing("one_time", at=NOON)
    assert (find_first_time(once, 0.0), find_next_time(once, NOON, NOON)) == (NOON, None)
    assert list_times(once, NOON, 3) == (NOON,)
    assert find_first_time(Timing(), NOON) is None
