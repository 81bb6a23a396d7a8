"""Schedules say which task runs when, or are refused."""

from __future__ import annotations

import pytest

from looseleaf.errors import InvalidName, Refused
from looseleaf.errors.features import InvalidSchedule
from looseleaf.features.workflows.schedules import TaskSchedule, TaskSchedules

TASKS = {"tidy", "acme/count"}


@pytest.fixture
def schedules() -> TaskSchedules:
    """Return an empty registry that knows a task, an operation and a setting."""
    return TaskSchedules(TASKS, {"tidy_enabled"})


def test_a_schedule_is_a_value_with_its_owner(schedules: TaskSchedules) -> None:
    """What is registered is what is listed, by name."""
    schedules.register("tidy", "tidy", "6h", params={"days": 3}, per_agent=True, owner="acme")
    schedules.register("count", "acme/count", "0 3 * * 1-5", enabled=False, zone="UTC")
    assert schedules.all() == (
        TaskSchedule(
            name="count",
            task="acme/count",
            when="0 3 * * 1-5",
            params={},
            enabled=False,
            zone="UTC",
        ),
        TaskSchedule(
            name="tidy", task="tidy", when="6h", params={"days": 3}, per_agent=True, owner="acme"
        ),
    )


@pytest.mark.parametrize(
    ("name", "task", "when", "options", "why"),
    [
        ("tidy", "tidy", "sometimes", {}, "'sometimes' does not say when: available"),
        ("tidy", "tidy", 5, {}, "5 is not text"),
        ("tidy", "sweep", "daily", {}, "no task and no operation 'sweep'"),
        ("tidy", "tidy", "daily", {"params": [1]}, "its params are a dict"),
        ("tidy", "tidy", "daily", {"enabled": 1}, "True or False"),
        ("tidy", "tidy", "daily", {"setting": "x"}, "there is no setting 'x'"),
        ("tidy", "tidy", "daily", {"often": True}, "its options are"),
    ],
)
def test_a_schedule_that_could_not_be_kept_is_refused(
    schedules: TaskSchedules, name: str, task: str, when: str, options: dict[str, object], why: str
) -> None:
    """The error names the schedule and what is wrong."""
    with pytest.raises(InvalidSchedule, match=why):
        schedules.register(name, task, when, **options)  # type: ignore[arg-type]
    assert schedules.all() == ()


def test_names_are_words_and_taken_once(schedules: TaskSchedules) -> None:
    """After start-up nothing is added."""
    schedules.register("tidy", "tidy", "daily", setting="tidy_enabled")
    with pytest.raises(InvalidSchedule, match="there is one of that name"):
        schedules.register("tidy", "tidy", "daily")
    with pytest.raises(InvalidName):
        schedules.register("Tidy Up", "tidy", "daily")
    schedules.freeze()
    with pytest.raises(Refused):
        schedules.register("late", "tidy", "daily")
