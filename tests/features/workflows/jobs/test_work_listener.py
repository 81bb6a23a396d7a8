"""A worker is woken by work that another process adds, also after its connection was lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from looseleaf.errors import Refused
from looseleaf.features.workflows.jobs import sql_jobs
from looseleaf.features.workflows.jobs.job import NewJob
from looseleaf.features.workflows.jobs.sql_jobs import WorkListener
from looseleaf.features.workflows.jobs.sql_queue import SqlJobStore
from looseleaf.stores.database.database import Database
from tests.conftest import Clock

PATIENCE = 60.0
LISTENERS = "FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"


class Alarm:
    """Counts the calls that should wake a worker."""

    def __init__(self) -> None:
        self._calls = threading.Semaphore(0)

    def __call__(self) -> None:
        self._calls.release()

    def wait(self) -> bool:
        """Wait for a call."""
        return self._calls.acquire(timeout=PATIENCE)

    def has_rung(self) -> bool:
        """Return whether there was a call that nobody waited for."""
        return self._calls.acquire(blocking=False)


@pytest.fixture
def alarm(postgres_database: Database) -> Iterator[Alarm]:
    """Listen to a fresh database."""
    alarm = Alarm()
    listener = WorkListener(postgres_database, alarm)
    assert alarm.wait()  # it listens
    yield alarm
    listener.close()


@pytest.fixture
def elsewhere(postgres_url: str, clock: Clock) -> Iterator[SqlJobStore]:
    """Open the same database as another process does."""
    database = Database(postgres_url)
    yield SqlJobStore(database, clock=clock)
    database.close()


def count_listeners(database: Database) -> int:
    """Return the number of connections that listen."""
    with database.reading() as connection:
        return int(connection.execute(sa.text(f"SELECT count(*) {LISTENERS}")).scalar_one())


def test_every_act_that_gives_work_wakes_a_worker(alarm: Alarm, elsewhere: SqlJobStore) -> None:
    """A new job and a request; an act that is refused wakes nobody."""
    job = elsewhere.jobs.add(NewJob(label="x"))[0]
    assert alarm.wait()
    elsewhere.jobs.request(job.id, "pause")
    assert alarm.wait()
    with pytest.raises(Refused):
        elsewhere.jobs.request(job.id, "retry")
    elsewhere.jobs.request(job.id, "resume")
    assert alarm.wait()
    assert not alarm.has_rung()


def test_a_lost_connection_is_opened_again(
    alarm: Alarm,
    elsewhere: SqlJobStore,
    postgres_database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And the worker looks at once, since work may have come meanwhile."""
    monkeypatch.setattr(sql_jobs, "_RETRY_SECONDS", 0.05)
    with postgres_database.reading() as connection:
        connection.execute(sa.text(f"SELECT pg_terminate_backend(pid) {LISTENERS}"))
    assert alarm.wait()
    elsewhere.jobs.add(NewJob(label="x"))
    assert alarm.wait()


def test_a_listener_that_is_closed_leaves_no_connection(postgres_database: Database) -> None:
    """The server has none that listens."""
    alarm = Alarm()
    listener = WorkListener(postgres_database, alarm)
    assert alarm.wait()
    assert count_listeners(postgres_database) == 1
    listener.close()
    wait_until(lambda: count_listeners(postgres_database) == 0)


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for a condition."""
    waiting = threading.Event()
    for _ in range(int(PATIENCE / 0.05)):
        if condition():
            return
        waiting.wait(0.05)
    raise AssertionError
