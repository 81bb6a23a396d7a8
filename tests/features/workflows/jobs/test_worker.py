"""A worker runs jobs to their end, follows what people want of them, and stops cleanly."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from looseleaf.errors import Unavailable
from looseleaf.features.workflows.jobs.queue import Limits
from looseleaf.features.workflows.jobs.worker import THREAD_NAME, JobEvent
from looseleaf.features.workflows.step import StepOutcome
from looseleaf.values import replace
from tests.features.workflows.jobs.house import QUICK, WorkerHarness


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_job_runs_its_steps_and_says_what_it_wrote(any_harness: WorkerHarness) -> None:
    """With the packets handed on, the revision of the page, and the observer told in order."""
    harness = any_harness
    with harness.working():
        job = harness.wait_for_end(harness.add(("say", {"text": "hello"}), ("note", {})).id)
    assert job.status_text == "completed"
    assert harness.notes == [f"{job.id}: hello (1)"]
    [write] = job.writes
    assert (write.filename, write.revision) == ("notes.md", 1)
    assert harness.observer.steps == [(job.id, "0"), (job.id, "1")]
    # Two threads may clear a job that has ended: the one that ran it, and one that looks for such.
    assert {ended.status for ended in harness.observer.jobs} == {"completed"}
    assert harness.reports == []


@pytest.mark.parametrize(
    ("status", "result"),
    [
        ("no_items", "completed_no_items"),
        ("skipped", "agent_skipped - quiet day"),
        ("failed", "failed - quiet day"),
    ],
)
def test_an_outcome_ends_the_job_in_its_way(
    harness: WorkerHarness, status: str, result: str
) -> None:
    """The steps after it do not run."""
    settings = {"status": status, "why": "" if status == "no_items" else "quiet day"}
    with harness.working():
        job = harness.wait_for_end(harness.add(("end-as", settings), ("say", {"text": "x"})).id)
    assert job.status_text == result
    assert [step.status for step in job.steps] == [status, "pending"]


def test_a_failure_that_passes_is_tried_again_later(harness: WorkerHarness) -> None:
    """The job waits in the queue, and keeps no thread."""
    with harness.working():
        job_id = harness.add(("stumble", {"failures": 1, "text": "x"})).id
        job = harness.wait(job_id, lambda job: job.attempts == 1)
        assert (job.status, job.reason) == ("pending", "The server is not available: it timed out.")
        assert 50 < job.not_before - job.created_at < 120
    # A person does not have to wait: cancelled and tried again, it begins where it was.
    harness.store.jobs.request(job_id, "cancel")
    harness.store.jobs.request(job_id, "retry")
    with harness.working():
        assert harness.wait_for_end(job_id).status == "completed"


def test_faults_end_a_job_with_their_name(harness: WorkerHarness) -> None:
    """A fault of a step, an unknown type and a packet that fits no schema."""
    with harness.working():
        broken = harness.add(("break-down", {}))
        unknown = harness.add(("gone", {}))
        missing = harness.add(("say", {}))
        jobs = [harness.wait_for_end(job.id) for job in (broken, unknown, missing)]
    assert jobs[0].status_text == "failed - ZeroDivisionError: a fault"
    assert "there is no such type of step" in jobs[1].reason
    assert jobs[2].reason.startswith("KeyError")
    assert len(harness.reports) == 2  # faults of ours are reported to the operator


def test_a_running_job_is_cancelled_and_paused(harness: WorkerHarness) -> None:
    """The step is told; what it returns then is not recorded."""
    with harness.working():
        job = harness.add(("linger", {}))
        harness.wait(job.id, lambda job: bool(job.steps[0].progress))
        harness.store.jobs.request(job.id, "cancel")
        ended = harness.wait_for_end(job.id)
        assert (ended.status, ended.steps[0].status) == ("cancelled", "pending")
        gated = harness.add(("hold-gate", {}), ("note", {}))
        harness.wait(gated.id, lambda job: job.status == "waiting")
        harness.store.jobs.request(gated.id, "pause")
        harness.store.jobs.signal(gated.id, "0", {"text": "called"}, gate="digest")
        assert harness.store.jobs.find(gated.id).status == "paused"
        harness.store.jobs.request(gated.id, "resume")
        assert harness.wait_for_end(gated.id).status == "completed"
    assert harness.notes == [f"{gated.id}: called (1)"]


def test_a_gate_without_a_call_fails_in_time(harness: WorkerHarness) -> None:
    """The job holds no thread meanwhile."""
    with harness.working():
        job = harness.wait_for_end(harness.add(("hold-gate", {"seconds": 0.2})).id)
    assert job.status_text == "failed - no call came in time"


def test_a_worker_that_stops_leaves_its_jobs_to_the_next(harness: WorkerHarness) -> None:
    """The step that ran is run again, and nothing is lost."""
    with harness.working():
        job = harness.add(("say", {"text": "x"}), ("linger", {}))
        harness.wait(job.id, lambda job: bool(job.steps[1].progress))
    left = harness.store.jobs.find(job.id)
    assert (left.status, left.steps[0].status) == ("pending", "completed")
    assert harness.store.workers.beats() == {}
    with harness.working():
        harness.wait(job.id, lambda job: job.steps[1].attempts == 2)
        harness.store.jobs.request(job.id, "cancel")
        harness.wait_for_end(job.id)


def test_what_a_dead_worker_did_not_clear_is_cleared_by_the_next(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job had ended; also a job that was cancelled while nobody had it is cleared."""
    with harness.working():
        ended = harness.wait_for_end(harness.add(("say", {"text": "x"})).id)
    harness.observer.jobs.clear()
    queue = harness.store.queue
    with monkeypatch.context() as patch:  # as if the worker had died before the note
        patch.setattr(queue, "note_cleared", lambda _job_id: None)
        with harness.working():
            second = harness.wait_for_end(harness.add(("say", {"text": "x"})).id)
    third = harness.add(("say", {"text": "x"}))
    harness.store.jobs.request(third.id, "cancel")
    harness.observer.jobs.clear()
    with harness.working():
        wait_until(lambda: len(harness.observer.jobs) == 2)
    assert {job.id for job in harness.observer.jobs} == {second.id, third.id}
    assert ended.id not in {job.id for job in harness.observer.jobs}
    assert queue.list_uncleared() == ()


def test_a_job_that_ends_before_it_is_run_again_is_left_alone(harness: WorkerHarness) -> None:
    """A look at the jobs without a thread may be older than the end of one of them."""
    events: list[JobEvent] = []
    worker = harness.worker(log=events.append)
    ended = harness.add(("say", {"text": "x"}))
    worker.start()
    harness.wait_for_end(ended.id)
    worker._left_jobs.append(ended.id)
    harness.wait_for_end(
        harness.add(("say", {"text": "x"})).id
    )  # taken after the one that was left
    worker.stop()
    assert [event.name for event in events if event.job_id == ended.id] == ["started", "ended"]
    assert harness.reports == []


def test_a_worker_can_be_waited_for_until_nothing_is_due(harness: WorkerHarness) -> None:
    """Even if the jobs are those of a worker that died, and with a line for each of them."""
    jobs = [harness.add(("say", {"text": "x"}), ("note", {})) for _ in range(6)]
    abandoned = harness.store.queue.claim("a-worker-that-died", Limits())
    assert abandoned is not None
    harness.store.workers.beat("a-worker-that-died", "here")
    later = harness.add(("say", {"text": "x"}), not_before=time.time() + 3_600)
    lock = harness.root / ".looseleaf" / "workers" / "a-worker-that-died"
    lock.parent.mkdir(exist_ok=True)
    lock.touch()
    events: list[JobEvent] = []
    worker = harness.worker(log=events.append)
    worker.start()
    worker.wait_until_drained()
    worker.stop()
    assert {harness.store.jobs.find(job.id).status for job in jobs} == {"completed"}
    assert harness.store.jobs.find(later.id).status == "pending"
    number, lines = abandoned.job_id, [event.describe() for event in events]
    assert f"Job {number}: taken over, since worker a-worker-that-died died." in lines
    assert f"Job {jobs[-1].id} (Test) begins." in lines
    assert sum(": completed (" in line for line in lines) == len(jobs)
    assert [event.name for event in events if event.job_id == number] == [
        "taken_over",
        "started",
        "ended",
    ]


def test_a_drain_takes_over_the_jobs_of_a_worker_that_is_not_here(
    any_harness: WorkerHarness,
) -> None:
    """After a restore there is no lock to tell that it died: its silence does."""
    harness = any_harness
    job = harness.add(("say", {"text": "x"}))
    assert harness.store.queue.claim("elsewhere", Limits()) is not None
    harness.store.workers.beat("elsewhere", "there")
    worker = harness.worker(replace(QUICK, silent_seconds=0.3))
    lines: list[str] = []
    worker.start()
    worker.wait_until_drained(lines.append)
    worker.stop()
    assert harness.store.jobs.find(job.id).status == "completed"
    assert lines == ["Waiting up to 0 s for a sign of life of elsewhere."]


def test_a_drain_leaves_the_jobs_of_a_worker_that_lives(harness: WorkerHarness) -> None:
    """A sign of life ends the wait."""
    job = harness.add(("say", {"text": "x"}))
    assert harness.store.queue.claim("elsewhere", Limits()) is not None
    harness.store.workers.beat("elsewhere", "there")
    worker = harness.worker(replace(QUICK, silent_seconds=3_600.0))
    worker.start()
    worker.wait_until_drained(lambda _line: harness.store.workers.beat("elsewhere", "there"))
    worker.stop()
    assert harness.store.jobs.find(job.id).status == "processing"


def test_the_log_has_every_way_in_which_a_job_can_end(harness: WorkerHarness) -> None:
    """Also a failure, and a job that was cancelled before any worker had it."""
    failing = harness.add(("end-as", {"status": "failed"}))
    cancelled = harness.add(("say", {"text": "x"}), not_before=time.time() + 3_600)
    harness.store.jobs.request(cancelled.id, "cancel")
    events: list[JobEvent] = []
    worker = harness.worker(log=events.append)
    worker.start()
    worker.wait_until_drained()
    wait_until(lambda: any(event.job_id == cancelled.id for event in events))
    worker.stop()
    names = {
        job.id: [event.name for event in events if event.job_id == job.id]
        for job in (failing, cancelled)
    }
    assert names == {failing.id: ["started", "failed"], cancelled.id: ["ended"]}


def test_the_jobs_of_dead_workers_run_only_so_many_at_once(harness: WorkerHarness) -> None:
    """A worker that finds many jobs to continue runs its own number of them, and no new one."""
    dead = "a-worker-that-died"
    left = [harness.add(("linger", {}), ("note", {})).id for _ in range(5)]
    for _ in left:
        assert harness.store.queue.claim(dead, Limits()) is not None
    harness.store.workers.beat(dead, "here")
    lock = harness.root / ".looseleaf" / "workers" / dead
    lock.parent.mkdir(exist_ok=True)
    lock.touch()
    new = harness.add(("say", {"text": "x"}))
    with harness.working(replace(QUICK, jobs_at_once=2)):
        for job_id in left[:2]:
            harness.wait(job_id, lambda job: bool(job.steps[0].progress))
        states = [harness.store.jobs.find(job_id) for job_id in left]
        assert [bool(job.steps[0].attempts) for job in states] == [True, True, False, False, False]
        assert harness.store.jobs.find(new.id).status == "pending"
        for job_id in left:
            harness.wait(job_id, lambda job: bool(job.steps[0].progress))
            harness.store.jobs.request(job_id, "cancel")
            harness.wait_for_end(job_id)
        assert harness.wait_for_end(new.id).status == "completed"
    assert harness.reports == []


def test_limits_hold_while_jobs_run(harness: WorkerHarness) -> None:
    """The second job of the agent waits for the first."""
    options = replace(QUICK, limits=Limits(per_agent=1))
    with harness.working(options):
        first = harness.add(("linger", {}))
        harness.wait(first.id, lambda job: bool(job.steps[0].progress))
        second = harness.add(("say", {"text": "x"}))
        free = harness.add(("say", {"text": "x"}), agent_id=0)
        harness.wait_for_end(free.id)
        assert harness.store.jobs.find(second.id).status == "pending"
        harness.store.jobs.request(first.id, "cancel")
        assert harness.wait_for_end(second.id).status == "completed"


def test_two_workers_of_a_process_share_the_jobs(any_harness: WorkerHarness) -> None:
    """Each job runs once, whichever worker has it."""
    harness = any_harness
    options = replace(QUICK, jobs_at_once=1)
    with harness.working(options), harness.working(options):
        lingering = [harness.add(("linger", {})).id for _ in range(2)]
        for job_id in lingering:
            harness.wait(job_id, lambda job: bool(job.steps[0].progress))
            harness.store.jobs.request(job_id, "cancel")
        jobs = [harness.add(("say", {"text": "x"}), ("note", {})).id for _ in range(10)]
        ends = [harness.wait_for_end(job_id) for job_id in jobs]
    assert {job.status for job in ends} == {"completed"}
    assert {step.attempts for job in ends for step in job.steps} == {1}
    assert len(harness.notes) == len(jobs)
    assert harness.reports == []


def test_a_job_runs_again_after_its_outcome_could_not_be_recorded(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker still has the job, and finds that no thread runs it."""
    end_step, failures = harness.store.queue.end_step, [Unavailable("The database", "it is locked")]

    def fail_once(*arguments: Any) -> StepOutcome:  # noqa: ANN401 - as there
        if failures:
            raise failures.pop()
        return end_step(*arguments)

    monkeypatch.setattr(harness.store.queue, "end_step", fail_once)
    with harness.working():
        job = harness.wait_for_end(harness.add(("say", {"text": "x"}), ("note", {})).id)
    assert (job.status, job.steps[0].attempts) == ("completed", 2)
    assert harness.notes == [f"{job.id}: x (1)"]
    [report] = harness.reports
    assert report.startswith(f"The job {job.id} is run again: Unavailable")


def test_a_job_without_a_thread_is_run_when_there_is_one(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system that has no thread left costs neither the job nor the place in the worker."""
    start, failures = threading.Thread.start, [RuntimeError("can't start new thread")]

    def fail_once(thread: threading.Thread) -> None:
        if thread.name.startswith(THREAD_NAME) and failures:
            raise failures.pop()
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", fail_once)
    with harness.working(replace(QUICK, jobs_at_once=1)):
        jobs = [harness.add(("say", {"text": "x"})).id for _ in range(2)]
        assert {harness.wait_for_end(job_id).status for job_id in jobs} == {"completed"}
    assert not failures
