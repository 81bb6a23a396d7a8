"""Schedules say what is to be run when, or are refused."""

from __future__ import annotations

import pytest

from looseleaf.errors import InvalidName, InvalidSchedule, Refused
from looseleaf.upkeep.schedules import Schedule, Schedules, why_not

KNOWN = {"acme/tidy", "acme/count"}


@pytest.fixture
def schedules() -> Schedules:
    """Give an empty registry that knows two operations."""
    return Schedules(KNOWN)


def test_a_schedule_is_a_value_with_its_owner(schedules: Schedules) -> None:
    """What is registered is what is listed, by name."""
    schedules.register("tidy", "acme/tidy", "6h", arguments={"days": 3}, owner="acme")
    schedules.register("count", "acme/count", "0 3 * * 1-5", enabled=False)
    assert schedules.all() == (
        Schedule("count", "acme/count", "0 3 * * 1-5", {}, enabled=False),
        Schedule("tidy", "acme/tidy", "6h", {"days": 3}, owner="acme"),
    )
    assert [one.interval for one in schedules.all()] == [0, 21_600]


@pytest.mark.parametrize(
    "when",
    [
        "1s",
        "90m",
        "6h",
        "1d",
        "* * * * *",
        "*/15 0-6,22 1,15 1-12/3 7",
        "59 23 31 12 0",
        "5 4 * * 1",
    ],
)
def test_these_times_can_be_kept(when: str) -> None:
    """Intervals, and five fields of cron with ranges, steps and lists."""
    assert why_not(when) is None


NEVER = ["", "0s", "1w", "h", "-1h", "1.5h", "٣h", "daily", "* * * *", "* * * * * *"]
NEVER += ["60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "5-1 * * * *"]
NEVER += ["*/0 * * * *", "5/2 * * * *", "a * * * *", "1, * * * *", "1-2-3 * * * *", "@daily"]


@pytest.mark.parametrize("when", NEVER)
def test_these_times_cannot_be_kept(when: str, schedules: Schedules) -> None:
    """The error names the schedule and what is wrong."""
    with pytest.raises(InvalidSchedule, match="'tidy'"):
        schedules.register("tidy", "acme/tidy", when)
    assert schedules.all() == ()


def test_a_time_must_be_text() -> None:
    """A number could be seconds or hours."""
    assert why_not(6) == "6 is not text"


def test_what_could_not_be_run_is_refused(schedules: Schedules) -> None:
    """An unknown operation, arguments that are none, a name that is none or taken."""
    with pytest.raises(InvalidSchedule, match="no operation 'acme/gone'"):
        schedules.register("tidy", "acme/gone", "6h")
    with pytest.raises(InvalidSchedule, match="arguments are a dict"):
        schedules.register("tidy", "acme/tidy", "6h", arguments=["x"])  # type: ignore[arg-type]
    with pytest.raises(InvalidName):
        schedules.register("Tidy up", "acme/tidy", "6h")
    schedules.register("tidy", "acme/tidy", "6h")
    with pytest.raises(InvalidSchedule, match="deregister it first"):
        schedules.register("tidy", "acme/count", "6h")


def test_a_schedule_can_be_taken_out_until_start_up_ends(schedules: Schedules) -> None:
    """Then nothing is registered or deregistered."""
    schedules.register("tidy", "acme/tidy", "6h")
    assert schedules.deregister("tidy")
    assert not schedules.deregister("tidy")
    schedules.freeze()
    with pytest.raises(Refused, match="too late"):
        schedules.register("tidy", "acme/tidy", "6h")
