"""Workers give signs of life, and the jobs of a dead one go to another."""

from __future__ import annotations

from looseleaf.features.workflows.jobs.job import NewJob
from looseleaf.features.workflows.jobs.queue import Limits
from looseleaf.features.workflows.jobs.sql_queue import SqlJobStore


def test_signs_of_life_are_counted(store: SqlJobStore) -> None:
    """Until the worker leaves."""
    for _ in range(3):
        store.workers.beat("a", "host")
    store.workers.beat("b", "host")
    assert store.workers.beats() == {"a": 3, "b": 1}
    store.workers.leave("a")
    assert store.workers.beats() == {"b": 1}


def test_the_jobs_of_a_dead_worker_go_to_one_other(store: SqlJobStore) -> None:
    """The second who asks gets none of them."""
    jobs = [store.jobs.add(NewJob(label="x"))[0].id for _ in range(3)]
    store.workers.beat("dead", "host")
    for worker in ("dead", "dead", "alive"):
        assert store.queue.claim(worker, Limits()) is not None
    assert store.workers.take_over("dead", "b") == (jobs[0], jobs[1])
    assert store.workers.take_over("dead", "c") == ()
    assert store.queue.list_requested_actions("b") == {jobs[0]: "", jobs[1]: ""}
    assert store.workers.beats() == {}
