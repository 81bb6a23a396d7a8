"""Schedules fire once for each time: after restarts, on several servers, and over clock jumps."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from looseleaf.errors import Refused, Unavailable
from looseleaf.features.workflows.jobs.job import Job, NewJob
from looseleaf.features.workflows.jobs.queue import JobFilter
from looseleaf.features.workflows.jobs.sql_queue import SqlJobStore
from looseleaf.features.workflows.schedules import ScheduleEntry, ScheduleFiring, Timing
from looseleaf.stores.database.database import Database
from looseleaf.values import replace
from tests.conftest import Clock

HOUR = 3600.0
HOURLY = ScheduleEntry(id="task:tidy", label="Tidy", timing=Timing("hourly"), task_type="tidy")


class Server:
    """A server that fires schedules of a shared database into its jobs."""

    def __init__(self, store: SqlJobStore, clock: Clock) -> None:
        self.store, self.entries, self.failure = store, [HOURLY], ""
        self.reports: list[str] = []
        self.firing = ScheduleFiring(
            store.schedules,
            lambda: self.entries,
            self.start_jobs,
            clock=clock,
            report=lambda label, error: self.reports.append(f"{label}: {error}"),
        )
        self.firing.reconcile()

    def start_jobs(self, entry: ScheduleEntry, _due: float, key: str) -> list[Job]:
        if self.failure:
            raise Unavailable("The model", self.failure)
        return [self.store.jobs.add(NewJob(label=entry.label, idempotency_key=key))[0]]


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[SqlJobStore]:
    """Yield the tables of jobs of a fresh database."""
    (tmp_path / ".looseleaf").mkdir()
    database = Database("", str(tmp_path))
    yield SqlJobStore(database, clock=clock)
    database.close()


@pytest.fixture
def any_store(tmp_path: Path, database_url: str, clock: Clock) -> Iterator[SqlJobStore]:
    """Yield the tables of jobs of each database in turn."""
    (tmp_path / ".looseleaf").mkdir()
    database = Database(database_url, str(tmp_path))
    yield SqlJobStore(database, clock=clock)
    database.close()


def next_run(store: SqlJobStore) -> float | None:
    """Return the next time of the schedule."""
    return store.schedules.list()["task:tidy"].next_run


def test_a_time_fires_once_and_the_next_follows(store: SqlJobStore, clock: Clock) -> None:
    """A second look at the same time finds nothing to do."""
    server = Server(store, clock)
    assert (server.firing.fire_due(), server.firing.fire_due()) == (1, 0)
    assert next_run(store) == clock.now + HOUR
    clock.advance(seconds=HOUR)
    assert server.firing.fire_due() == 1


def test_a_restart_keeps_the_next_run_and_missed_runs_fire_once(
    store: SqlJobStore, clock: Clock
) -> None:
    """The phase stays, whatever was missed."""
    Server(store, clock).firing.fire_due()
    start = clock.now
    clock.advance(seconds=5 * HOUR + 100)
    server = Server(store, clock)
    assert next_run(store) == start + HOUR
    assert (server.firing.fire_due(), server.firing.fire_due()) == (1, 0)
    assert next_run(store) == start + 6 * HOUR


def test_several_servers_fire_a_time_once(store: SqlJobStore, clock: Clock) -> None:
    """Whoever is first."""
    servers = [Server(store, clock) for _ in range(3)]
    assert sum(server.firing.fire_due() for server in servers) == 1


def test_servers_that_look_at_the_same_moment_start_one_job(
    any_store: SqlJobStore, clock: Clock
) -> None:
    """On each database, again and again: one job for each time, and one server that counts it."""
    servers = [Server(any_store, clock) for _ in range(6)]
    with ThreadPoolExecutor(len(servers)) as pool:
        for _ in range(10):
            assert sum(pool.map(lambda server: server.firing.fire_due(), servers)) == 1
            clock.advance(seconds=HOUR)
    jobs, total = any_store.jobs.list(JobFilter())
    assert total == len({job.idempotency_key for job in jobs}) == 10
    assert not any(server.reports for server in servers)


def test_a_server_that_dies_before_the_schedule_moves_on_loses_no_time(
    any_store: SqlJobStore, clock: Clock
) -> None:
    """The next server finds the job of that time, and starts none beside it."""
    store = any_store
    server = Server(store, clock)
    advance = store.schedules.advance

    def die(*_: object) -> bool:
        raise KeyboardInterrupt

    store.schedules.advance = die  # type: ignore[method-assign,assignment]
    with pytest.raises(KeyboardInterrupt):
        server.firing.fire_due()
    store.schedules.advance = advance  # type: ignore[method-assign]
    [job], _ = store.jobs.list(JobFilter())
    clock.advance(seconds=60)
    assert Server(store, clock).firing.fire_due() == 1
    assert store.jobs.list(JobFilter()) == ([job], 1)
    assert store.schedules.list()["task:tidy"].last_job == job.id


@pytest.mark.parametrize("cron", ["0 * * * *", "30 2 * * *", "*/20 * * * *"])
def test_a_plan_of_cron_survives_jumps_of_the_clock(
    store: SqlJobStore, clock: Clock, cron: str
) -> None:
    """An hour back and forth at any moment of two days: each time fires at most once."""
    server = Server(store, clock)
    server.entries = [replace(HOURLY, timing=Timing("cron", cron=cron), zone="Europe/Berlin")]
    server.firing.reconcile()
    for minutes in range(0, 48 * 60, 10):
        jump = (HOUR, -HOUR, 0.0)[minutes // 10 % 3]
        clock.advance(seconds=jump + 600.0)
        server.firing.fire_due()
        Server(store, clock)  # a restart in between
        server.firing.fire_due()
    jobs, total = store.jobs.list(JobFilter(), limit=1000)
    keys = [job.idempotency_key for job in jobs]
    assert len(set(keys)) == total > 1


def test_a_clock_that_jumps_an_hour_fires_nothing_twice(store: SqlJobStore, clock: Clock) -> None:
    """Forward, the time that was jumped over fires once; back again, it is over."""
    server = Server(store, clock)
    server.firing.fire_due()
    clock.advance(seconds=HOUR + 60)
    assert server.firing.fire_due() == 1
    clock.advance(seconds=-HOUR)
    assert server.firing.fire_due() == 0
    clock.advance(seconds=HOUR - 60)
    assert server.firing.fire_due() == 0
    clock.advance(seconds=HOUR)
    assert server.firing.fire_due() == 1
    jobs, total = store.jobs.list(JobFilter())
    assert len({job.idempotency_key for job in jobs}) == total == 3


def test_a_change_of_the_plan_begins_anew(store: SqlJobStore, clock: Clock) -> None:
    """And a schedule that is switched off is gone."""
    server = Server(store, clock)
    server.firing.fire_due()
    server.entries = [replace(HOURLY, timing=Timing("daily"))]
    server.firing.reconcile()
    assert next_run(store) == clock.now
    server.entries = [replace(HOURLY, is_enabled=False)]
    server.firing.reconcile()
    assert store.schedules.list() == {}


def test_repeated_rejections_are_reported_once(store: SqlJobStore, clock: Clock) -> None:
    """At the third; a start that works clears them."""
    server = Server(store, clock)
    server.failure = "gone"
    for _ in range(5):
        server.firing.fire_due()
        clock.advance(seconds=HOUR)
    assert len(server.reports) == 1
    assert "3 times in a row" in server.reports[0]
    assert store.schedules.list()["task:tidy"].is_failing
    server.failure = ""
    server.firing.fire_due()
    assert not store.schedules.list()["task:tidy"].is_failing


def test_a_run_now_leaves_the_next_time_as_it_is(store: SqlJobStore, clock: Clock) -> None:
    """A schedule for agents that has none says so."""
    server = Server(store, clock)
    server.firing.fire_due()
    before = next_run(store)
    [job] = server.firing.run_now(HOURLY)
    assert (next_run(store), store.schedules.list()["task:tidy"].last_job) == (before, job.id)
    empty = ScheduleFiring(
        store.schedules, lambda: [HOURLY], lambda *_: [], clock=clock, report=lambda *_: None
    )
    with pytest.raises(Refused, match="there is none"):
        empty.run_now(HOURLY)
