"""Workers claim jobs in order and within limits, and write only what they hold."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from looseleaf.errors.features import JobLost
from looseleaf.features.workflows import tables
from looseleaf.features.workflows.jobs.job import NewJob, StepRecord
from looseleaf.features.workflows.jobs.queue import JobLease, JobOutcome, Limits
from looseleaf.features.workflows.jobs.sql_queue import SqlJobStore
from looseleaf.features.workflows.step import StepOutcome
from looseleaf.models.model import Usage
from looseleaf.stores.database.database import Database
from tests.conftest import Clock

STEPS = (StepRecord(id="a", type="say"), StepRecord(id="b", type="note"))
ANY = Limits()


def add(store: SqlJobStore, *, agent: int = 0, model: str = "", not_before: float = 0.0) -> int:
    """Add a job and return its number."""
    job = NewJob(
        label="x", snapshot={}, steps=STEPS, agent_id=agent, model=model, not_before=not_before
    )
    return store.jobs.add(job)[0].id


def claim(store: SqlJobStore, limits: Limits = ANY) -> JobLease:
    """Claim a job that must be there."""
    lease = store.queue.claim("w", limits)
    assert lease is not None
    return lease


def test_the_oldest_job_that_is_due_comes_first(store: SqlJobStore, clock: Clock) -> None:
    """A job that waits for its time is passed over."""
    later, first, second = add(store, not_before=clock.now + 5), add(store), add(store)
    assert [claim(store).job_id, claim(store).job_id] == [first, second]
    assert store.queue.claim("w", ANY) is None
    clock.advance(seconds=5)
    assert claim(store).job_id == later


def test_an_ended_job_is_to_be_cleared_until_that_is_noted(
    store: SqlJobStore, clock: Clock
) -> None:
    """Whether a worker ended it, a person cancelled it, or no call came in time."""
    ended = claim_new(store)
    store.queue.release(ended, JobOutcome("completed"))
    cancelled = add(store)
    store.jobs.request(cancelled, "cancel")
    waiting = claim_new(store)
    store.queue.release(waiting, JobOutcome("waiting", not_before=clock.now + 5))
    clock.advance(seconds=6)
    assert store.queue.expire() == 1
    expected = {ended.job_id, cancelled, waiting.job_id}
    assert {job.id for job in store.queue.list_uncleared()} == expected
    assert store.jobs.find(cancelled).not_before == 0.0
    for job_id in expected:
        store.queue.note_cleared(job_id)
    assert store.queue.list_uncleared() == ()
    store.jobs.request(cancelled, "retry")
    store.queue.note_cleared(cancelled)  # too late: the job is under way again
    assert store.queue.count_due() == 1


def test_a_retry_counts_the_time_anew(store: SqlJobStore, clock: Clock) -> None:
    """The time between the failure and the retry is nobody's work; attempts are counted on."""
    lease = claim_new(store)
    store.queue.begin_step(lease, "a")
    store.queue.end_step(lease, "a", StepOutcome(status="failed", reason="no"))
    store.queue.release(lease, JobOutcome("failed", "no"))
    clock.advance(seconds=1_000)
    job = store.jobs.request(lease.job_id, "retry")
    assert (job.started_at, job.steps[0].started_at, job.seconds) == (0.0, 0.0, 0.0)
    lease = claim(store)
    assert store.queue.begin_step(lease, "a") == 2
    assert store.jobs.find(lease.job_id).steps[0].started_at == clock.now


def claim_new(store: SqlJobStore) -> JobLease:
    """Add a job and claim it."""
    add(store)
    return claim(store)


def test_limits_hold_per_agent_and_per_model(store: SqlJobStore) -> None:
    """Jobs without an agent or a model are not counted."""
    limits = Limits(per_agent=1, per_model=2)
    first = add(store, agent=1, model="m")
    add(store, agent=1, model="m")
    third = add(store, agent=2, model="m")
    add(store, agent=3, model="m")
    free = [add(store), add(store)]
    assert [claim(store, limits).job_id for _ in range(4)] == [first, third, *free]
    assert store.queue.claim("w", limits) is None


@pytest.mark.parametrize(("limits", "count"), [(Limits(8, 0), 8), (ANY, 12)])
def test_each_job_is_claimed_once(store: SqlJobStore, limits: Limits, count: int) -> None:
    """However many ask at the same time; the limits hold, too."""
    jobs = {add(store, agent=1) for _ in range(12)}
    with ThreadPoolExecutor(6) as pool:
        leases = list(pool.map(lambda n: store.queue.claim(f"w{n}", limits), range(12)))
    claimed = [lease.job_id for lease in leases if lease is not None]
    assert len(claimed) == len(set(claimed)) == count
    assert set(claimed) <= jobs


def test_a_job_that_someone_changes_is_passed_over(
    postgres_database: Database, clock: Clock
) -> None:
    """A claim waits for nobody: the next job is taken, and the first one later."""
    store = SqlJobStore(postgres_database, clock=clock)
    first, second = add(store), add(store)
    locked = sa.select(tables.jobs.c.id).where(tables.jobs.c.id == first).with_for_update()
    with postgres_database.writing() as connection:
        connection.execute(locked)
        assert claim(store).job_id == second
        assert store.queue.claim("w", ANY) is None
    assert claim(store).job_id == first


def test_an_outcome_is_recorded_once(store: SqlJobStore) -> None:
    """Who comes second gets the first one; tokens are counted once."""
    add(store)
    lease = claim(store)
    assert [store.queue.begin_step(lease, "a") for _ in "12"] == [1, 2]
    first = StepOutcome(reason="first", usage=Usage(1, 10, 5))
    assert store.queue.end_step(lease, "a", first) == first
    assert store.queue.end_step(lease, "a", StepOutcome(reason="second")) == first
    job = store.queue.release(lease, JobOutcome("completed"))
    assert (job.usage, job.steps[0].usage, job.steps[0].attempts) == (first.usage, first.usage, 2)


def test_a_job_that_was_taken_over_is_lost_to_the_first(store: SqlJobStore) -> None:
    """Nothing that it writes counts any more, and it cannot take the job back."""
    add(store)
    lease = claim(store)
    with pytest.raises(JobLost):
        store.queue.take(lease.job_id, "another")
    assert store.workers.take_over("w", "another") == (lease.job_id,)
    taken, state = store.queue.take(lease.job_id, "another")
    assert (taken.worker, taken.run, state.job.id) == ("another", lease.run, lease.job_id)
    with pytest.raises(JobLost):
        store.queue.take(lease.job_id, "w")
    with pytest.raises(JobLost):
        store.queue.begin_step(lease, "a")
    with pytest.raises(JobLost):
        store.queue.end_step(lease, "a", StepOutcome())
    with pytest.raises(JobLost):
        store.queue.release(lease, JobOutcome("failed"))
    assert store.queue.release(taken, JobOutcome("completed")).status == "completed"
    with pytest.raises(JobLost):
        store.queue.take(lease.job_id, "another")


def test_a_release_says_when_and_how_often(store: SqlJobStore, clock: Clock) -> None:
    """A retry counts, and the step that was begun can begin again."""
    add(store)
    lease = claim(store)
    store.queue.begin_step(lease, "a")
    store.queue.report_progress(lease, "a", "half" * 100)
    assert len(store.jobs.find(lease.job_id).steps[0].progress) == 200
    job = store.queue.release(lease, JobOutcome("pending", "busy", clock.now + 60, is_retry=True))
    assert (job.status_text, job.attempts) == ("pending - busy", 1)
    assert job.not_before == clock.now + 60
    assert job.steps[0].status == "pending"
    assert store.queue.claim("w", ANY) is None


def test_wishes_are_those_of_the_jobs_that_a_worker_runs(store: SqlJobStore) -> None:
    """Each with what people asked for."""
    add(store)
    add(store)
    first, second = claim(store), claim(store)
    store.jobs.request(second.job_id, "pause")
    assert store.queue.list_requested_actions("w") == {first.job_id: "", second.job_id: "pause"}
    assert store.queue.list_requested_actions("another") == {}


def test_a_job_that_waited_too_long_fails(store: SqlJobStore, clock: Clock) -> None:
    """A job without a limit waits for ever."""
    add(store)
    add(store)
    first, second = claim(store), claim(store)
    store.queue.release(first, JobOutcome("waiting", "a call", clock.now + 10))
    store.queue.release(second, JobOutcome("waiting", "a call"))
    assert store.queue.expire() == 0
    clock.advance(seconds=10)
    assert store.queue.expire() == 1
    assert store.jobs.find(first.job_id).status_text == "failed - no call came in time"
    assert store.jobs.find(second.job_id).status == "waiting"
