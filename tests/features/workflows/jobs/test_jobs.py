"""Jobs are added, listed, directed and deleted; a row is all that a surface needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from looseleaf.errors import Refused
from looseleaf.errors.features import JobMissing
from looseleaf.features.workflows.jobs.job import MemoryWrite, NewJob, StepRecord
from looseleaf.features.workflows.jobs.queue import JobFilter, JobLease, JobOutcome, Limits
from looseleaf.features.workflows.jobs.sql_queue import SqlJobStore
from looseleaf.features.workflows.packet import create_packet
from looseleaf.features.workflows.step import StepOutcome
from tests.conftest import Clock

if TYPE_CHECKING:
    from looseleaf.features.workflows.jobs.queue import JobRequest

STEPS = (StepRecord(id="a", type="say", label="Say"), StepRecord(id="b", type="note", label="Note"))


def new_job(**fields: Any) -> NewJob:  # noqa: ANN401 - fields of a job
    """Return a job with two steps."""
    return NewJob(label=fields.pop("label", "News"), snapshot={"text": "ä"}, steps=STEPS, **fields)


def claim_new(store: SqlJobStore) -> JobLease:
    """Add a job and claim it."""
    store.jobs.add(new_job())
    lease = store.queue.claim("w", Limits())
    assert lease is not None
    return lease


def test_a_job_is_found_as_it_was_added(store: SqlJobStore, clock: Clock) -> None:
    """With its steps, its configuration and the time of the request."""
    job, is_new = store.jobs.add(new_job(agent_id=3, flow_id=5, label="x" * 300))
    assert is_new
    assert store.jobs.find(job.id) == job
    assert (job.status, job.created_at, len(job.label)) == ("pending", clock.now, 255)
    assert [(step.id, step.type, step.status) for step in job.steps] == [
        ("a", "say", "pending"),
        ("b", "note", "pending"),
    ]
    assert store.jobs.state(job.id).snapshot == {"text": "ä"}
    with pytest.raises(JobMissing):
        store.jobs.find(job.id + 1)


def test_a_key_belongs_to_one_job(store: SqlJobStore) -> None:
    """The second one gets the first, and no listener is told."""
    calls: list[int] = []
    store.jobs.on_work(lambda: calls.append(1))
    first, _ = store.jobs.add(new_job(idempotency_key="flow:1@noon"))
    second, is_new = store.jobs.add(new_job(idempotency_key="flow:1@noon"))
    assert (second, is_new) == (first, False)
    assert store.jobs.add(new_job())[1]
    assert store.jobs.add(new_job())[1]
    assert len(calls) == 3


def test_a_list_is_newest_first_and_filtered(store: SqlJobStore, clock: Clock) -> None:
    """By status, agent, flow, source and time, with the number of all."""
    for number in range(5):
        clock.advance(seconds=10)
        store.jobs.add(new_job(agent_id=number % 2, flow_id=number, source="system"))
    page, total = store.jobs.list(JobFilter(), limit=2, offset=1)
    assert ([job.flow_id for job in page], total) == ([3, 2], 5)
    assert all(not job.steps for job in page)

    def flows(**fields: Any) -> list[int]:  # noqa: ANN401 - fields of a filter
        return [job.flow_id for job in store.jobs.list(JobFilter(**fields))[0]]

    assert flows(agent_ids=(1,)) == [3, 1]
    assert flows(agent_ids=()) == []
    assert flows(flow_id=0) == [0]
    assert flows(source="pipeline") == []
    assert flows(statuses=("failed",)) == []
    assert flows(created_from=clock.now) == [4]
    assert flows(created_until=clock.now - 30) == [0]


def test_a_list_names_the_pages_that_each_job_changed(store: SqlJobStore, clock: Clock) -> None:
    """In the order of the steps, without the packets; the job itself names the same."""
    lease = claim_new(store)
    writes = [MemoryWrite("agent", 0, 3, f"{name}.md", 2, "append") for name in ("ä", "b")]
    packet = create_packet("item", {"content": "x" * 1000}, now=clock.now)
    for step, write in zip(("a", "b"), writes, strict=True):
        store.queue.begin_step(lease, step)
        store.queue.end_step(lease, step, StepOutcome(packets=(packet,), writes=(write,)))
    store.jobs.add(new_job())
    page, _total = store.jobs.list(JobFilter())
    assert [job.writes for job in page] == [(), tuple(writes)]
    assert store.jobs.find(lease.job_id).writes == tuple(writes)
    assert store.jobs.find(lease.job_id).steps[0].seconds == 0.0


@pytest.mark.parametrize(
    ("status", "act", "result"),
    [
        ("pending", "cancel", "cancelled"),
        ("pending", "pause", "paused"),
        ("waiting", "pause", "paused"),
        ("waiting", "cancel", "cancelled"),
        ("paused", "resume", "pending"),
        ("paused", "cancel", "cancelled"),
        ("processing", "cancel", "processing"),
        ("processing", "pause", "processing"),
        ("processing", "resume", "processing"),
        ("failed", "retry", "pending"),
        ("cancelled", "retry", "pending"),
        ("completed", "retry", None),
        ("completed", "cancel", None),
        ("failed", "pause", None),
        ("pending", "resume", None),
        ("pending", "retry", None),
    ],
)
def test_a_request_fits_the_status(
    store: SqlJobStore, status: str, act: JobRequest, result: str | None
) -> None:
    """Or it is refused, and nothing changes."""
    lease = claim_new(store)
    if status != "processing":
        store.queue.release(lease, JobOutcome(status))  # type: ignore[arg-type]
    if result is None:
        with pytest.raises(Refused, match=status):
            store.jobs.request(lease.job_id, act)
        assert store.jobs.find(lease.job_id).status == status
    else:
        assert store.jobs.request(lease.job_id, act).status == result


def test_a_retry_runs_the_steps_again_that_did_not_end_well(store: SqlJobStore) -> None:
    """What was completed stays, with its outcome."""
    lease = claim_new(store)
    store.queue.end_step(lease, "a", StepOutcome())
    store.queue.end_step(lease, "b", StepOutcome(status="failed", reason="no"))
    store.queue.release(lease, JobOutcome("failed", "no"))
    store.jobs.request(lease.job_id, "retry")
    state = store.jobs.state(lease.job_id)
    assert (list(state.outcomes), state.position) == (["a"], 1)
    assert [step.status for step in state.job.steps] == ["completed", "pending"]
    again = store.queue.claim("w", Limits())
    assert again is not None
    assert again.run == 2


def test_a_waiting_job_is_woken_once_by_the_one_who_knows_the_secret(store: SqlJobStore) -> None:
    """A wrong secret learns nothing, not even that there is such a job."""
    lease = claim_new(store)
    store.queue.end_step(lease, "a", StepOutcome(status="waiting", gate="right"))
    store.queue.release(lease, JobOutcome("waiting", "a call"))
    for step, gate in (("a", "wrong"), ("a", ""), ("b", ""), ("c", "right")):
        with pytest.raises(JobMissing):
            store.jobs.signal(lease.job_id, step, {}, gate=gate)
    assert store.jobs.signal(lease.job_id, "a", {"n": 1}, gate="right").status == "pending"
    assert store.jobs.state(lease.job_id).signals == {"a": {"n": 1}}
    with pytest.raises(Refused, match="no longer waits"):
        store.jobs.signal(lease.job_id, "a", {"n": 2}, gate="right")


def test_a_paused_gate_waits_again_unless_the_call_came(store: SqlJobStore) -> None:
    """A call that comes while the job is paused is kept for later."""
    lease = claim_new(store)
    job_id = lease.job_id
    store.queue.end_step(lease, "a", StepOutcome(status="waiting", gate="right"))
    store.queue.release(lease, JobOutcome("waiting"))
    store.jobs.request(job_id, "pause")
    assert store.jobs.request(job_id, "resume").status == "waiting"
    store.jobs.request(job_id, "pause")
    assert store.jobs.signal(job_id, "a", {}, gate="right").status == "paused"
    assert store.jobs.request(job_id, "resume").status == "pending"


def test_only_jobs_that_have_ended_are_deleted(store: SqlJobStore) -> None:
    """With their steps and effects."""
    first, _ = store.jobs.add(new_job())
    second, _ = store.jobs.add(new_job())
    store.jobs.request(first.id, "cancel")
    for job in (first, second):
        store.intents.note(f"job-{job.id}/step-a", "page", "hash")
    assert store.jobs.delete([first.id, second.id, 99]) == 1
    with pytest.raises(JobMissing):
        store.jobs.find(first.id)
    assert store.intents.find(f"job-{first.id}/step-a", "page") is None
    assert store.intents.find(f"job-{second.id}/step-a", "page") is not None


def test_packets_survive_the_database(store: SqlJobStore, clock: Clock) -> None:
    """The outcome of a step is read as it was recorded."""
    lease = claim_new(store)
    packet = create_packet("item", {"content": "x"}, now=clock.now)
    outcome = StepOutcome(packets=(packet,), artifacts=("ref",))
    assert store.queue.end_step(lease, "a", outcome) == outcome
    assert store.jobs.state(lease.job_id).outcomes["a"] == outcome
    assert store.jobs.find(lease.job_id).steps[0].packets == 1
