"""The states of schedules survive restarts, and one server fires a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from looseleaf.features.workflows.jobs.sql_queue import SqlJobStore
from looseleaf.features.workflows.schedules import ScheduleEntry, ScheduleState, Timing
from looseleaf.values import replace
from tests.conftest import Clock

DAILY = ScheduleEntry(id="task:tidy", label="Tidy", timing=Timing("daily"))


def test_an_unchanged_schedule_keeps_its_next_run(store: SqlJobStore) -> None:
    """Another time plan begins anew; what is no longer there is forgotten."""
    states = store.schedules
    assert states.ensure(DAILY, 100.0) == "created"
    assert states.ensure(DAILY, 200.0) == "preserved"
    assert states.list() == {"task:tidy": ScheduleState(id="task:tidy", next_run=100.0)}
    hourly = replace(DAILY, timing=Timing("hourly"))
    assert states.ensure(hourly, 300.0) == "replaced"
    assert states.list()["task:tidy"].next_run == 300.0
    assert states.keep_only(["task:tidy"]) == 0
    assert states.keep_only([]) == 1
    assert states.list() == {}


def test_one_server_fires_a_time(store: SqlJobStore, clock: Clock) -> None:
    """The others find that the schedule has moved on."""
    store.schedules.ensure(DAILY, 100.0)

    def advance(_server: int) -> bool:
        return store.schedules.advance("task:tidy", 100.0, 200.0)

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(advance, range(8))) == [False] * 7 + [True]
    state = store.schedules.list()["task:tidy"]
    assert (state.next_run, state.last_run) == (200.0, clock.now)


def test_due_is_what_has_come_and_is_not_paused(store: SqlJobStore) -> None:
    """The longest due first; a paused schedule does not move on either."""
    for name, first in (("a", 300.0), ("b", 100.0), ("c", 200.0), ("d", None)):
        store.schedules.ensure(replace(DAILY, id=name), first)
    assert store.schedules.pause("c", is_paused=True)
    assert not store.schedules.pause("z", is_paused=True)
    assert [state.id for state in store.schedules.due(300.0)] == ["b", "a"]
    assert not store.schedules.advance("c", 200.0, 400.0)
    store.schedules.pause("c", is_paused=False)
    assert store.schedules.advance("c", 200.0, None)
    assert store.schedules.list()["c"].next_run is None


def test_rejections_are_counted_until_one_works(store: SqlJobStore) -> None:
    """Three in a row need a person."""
    store.schedules.ensure(DAILY, 100.0)
    counts = [store.schedules.note_result("task:tidy", problem="no agent") for _ in "123"]
    assert counts == [1, 2, 3]
    state = store.schedules.list()["task:tidy"]
    assert (state.is_failing, state.problem) == (True, "no agent")
    assert store.schedules.note_result("task:tidy", job_id=7) == 0
    state = store.schedules.list()["task:tidy"]
    assert (state.is_failing, state.problem, state.last_job) == (False, "", 7)
