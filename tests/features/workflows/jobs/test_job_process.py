"""A step that ends the process that runs it fails by itself: the worker and other jobs go on."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.catalog.page_checks import CheckRun
from looseleaf.features.workflows.definitions import Step
from looseleaf.features.workflows.jobs import worker as worker_module
from looseleaf.features.workflows.jobs.documents import check_jobs
from looseleaf.features.workflows.jobs.job import Job
from looseleaf.features.workflows.jobs.queue import JobLease, Limits
from looseleaf.features.workflows.jobs.run import (
    CANNOT_RUN,
    MOST_INTERRUPTIONS,
    plan_direct_job,
)
from looseleaf.features.workflows.jobs.worker import JobEvent
from looseleaf.features.workflows.parts import jobs_of
from looseleaf.features.workflows.plugin import list_attention
from tests.features.workflows.jobs.house import WorkerHarness
from tests.features.workflows.jobs.test_crash import worker_process


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bear one process that dies, after the worker did, so that a test starts few of them."""
    monkeypatch.setattr(worker_module, "MOST_INTERRUPTIONS", 2)


def mark_dead(harness: WorkerHarness, job: Job) -> None:
    """Have a worker die in the first step of a job."""
    worker = "a-worker-that-died"
    lease = harness.store.queue.claim(worker, Limits())
    assert lease is not None
    assert lease.job_id == job.id
    harness.store.queue.begin_step(lease, "0")
    harness.store.workers.beat(worker, "here")
    lock = harness.root / ".looseleaf" / "workers" / worker
    lock.parent.mkdir(exist_ok=True)
    lock.touch()


def run_as_process(harness: WorkerHarness, *codes: int) -> list[int]:
    """Have processes of jobs die with these codes, and run in this process after that."""
    left = list(codes)

    def run(lease: JobLease, is_stopping: Callable[[], bool]) -> int:
        return left.pop(0) if left else harness.run_inside(lease, is_stopping)

    harness.run_apart = run  # type: ignore[assignment]
    return left


@pytest.mark.usefixtures("few")
def test_a_step_that_kills_its_worker_kills_no_second_one(any_harness: WorkerHarness) -> None:
    """A real worker dies once; the next one survives, fails the job, and runs those behind it."""
    harness = any_harness
    killer = harness.add(("end-process", {}), ("note", {}))
    with worker_process(harness) as process:
        process.wait()
    others = [harness.add(("say", {"text": "x"}), ("note", {})) for _ in range(3)]
    events: list[JobEvent] = []
    worker = harness.worker(log=events.append)
    worker.start()
    assert {harness.wait_for_end(job.id).status for job in others} == {"completed"}
    end = harness.wait_for_end(killer.id)
    worker.wait_until_drained()
    worker.stop()
    assert end.status_text == (
        "failed - the step ended the process that ran it 2 times, the last time by SIGKILL"
    )
    assert (end.steps[0].status, end.steps[0].interruptions) == ("failed", 2)
    assert [job.id for job in harness.store.jobs.list_dangerous()] == [killer.id]
    lines = [event.describe() for event in events if event.job_id == killer.id]
    assert f"Job {killer.id} (Test) continues at End process in a process of its own." in lines
    assert lines.count(f"Job {killer.id} (Test): its process ended by SIGKILL.") == 1
    assert harness.reports == []


def test_a_step_that_was_cut_off_by_chance_ends_well(harness: WorkerHarness) -> None:
    """The rest of its job runs in one process, which writes what the worker would have written."""
    job = harness.add(("say", {"text": "x"}), ("note", {}), ("note", {}))
    mark_dead(harness, job)
    with harness.working():
        end = harness.wait_for_end(job.id)
    assert (end.status, end.steps[0].interruptions) == ("completed", 1)
    assert harness.notes == [f"{job.id}: x (1)", f"{job.id}: x (2)"]
    assert harness.store.jobs.list_dangerous() == ()


@pytest.mark.parametrize("action", ["cancel", "stop"])
def test_a_job_in_a_process_of_its_own_can_be_ended(harness: WorkerHarness, action: str) -> None:
    """Cancelling reaches the process, and so does the stop of its worker."""
    job = harness.add(("linger", {}))
    mark_dead(harness, job)
    with harness.working():
        harness.wait(job.id, lambda job: bool(job.steps[0].progress))
        if action == "cancel":
            harness.store.jobs.request(job.id, "cancel")
            harness.wait_for_end(job.id)
    end = harness.store.jobs.find(job.id)
    assert end.status == ("cancelled" if action == "cancel" else "pending")
    assert end.steps[0].interruptions == 1


def test_a_process_that_ends_as_if_all_were_well_is_noticed(any_harness: WorkerHarness) -> None:
    """The job is tried again, since nothing has released it."""
    harness = any_harness
    job = harness.add(("say", {"text": "x"}), ("note", {}))
    mark_dead(harness, job)
    run_as_process(harness, 0, -signal.SIGSEGV, 3)
    events: list[JobEvent] = []
    worker = harness.worker(log=events.append)
    worker.start()
    assert harness.wait_for_end(job.id).status == "completed"
    worker.stop()
    ends = [event.detail for event in events if event.name == "interrupted"]
    assert ends == ["exit code 0", "SIGSEGV", "exit code 3"]
    assert harness.store.jobs.find(job.id).steps[0].interruptions == 4


def test_a_process_that_cannot_begin_is_no_fault_of_the_step(harness: WorkerHarness) -> None:
    """A database that is away, or a machine without a place for a process, ends no job."""
    job = harness.add(("say", {"text": "x"}))
    mark_dead(harness, job)
    run_as_process(harness, *[CANNOT_RUN] * MOST_INTERRUPTIONS)
    with harness.working():
        end = harness.wait_for_end(job.id)
    assert (end.status, end.steps[0].interruptions) == ("completed", 1)
    assert len(harness.reports) == MOST_INTERRUPTIONS


def test_a_step_that_ends_its_process_with_that_code_fails(harness: WorkerHarness) -> None:
    """A process that began the step did run, whatever it says: the step must not run for ever."""
    job = harness.add(("say", {"text": "x"}))
    mark_dead(harness, job)

    def begin_and_end(lease: JobLease, _is_stopping: Callable[[], bool]) -> int:
        harness.store.queue.begin_step(lease, "0")
        return CANNOT_RUN

    harness.run_apart = begin_and_end  # type: ignore[assignment]
    with harness.working():
        end = harness.wait_for_end(job.id)
    assert (end.status, end.steps[0].interruptions) == ("failed", MOST_INTERRUPTIONS)
    assert end.reason.endswith(f"the last time by exit code {CANNOT_RUN}")


@pytest.mark.parametrize("status", ["completed", "waiting"])
def test_a_drain_waits_for_the_process_of_a_job(any_harness: WorkerHarness, status: str) -> None:
    """Also after that has released the job, so that its end is cleared and in the log."""
    harness = any_harness
    step = ("say", {"text": "x"}) if status == "completed" else ("hold-gate", {})
    job = harness.add(step)
    mark_dead(harness, job)

    def run(lease: JobLease, is_stopping: Callable[[], bool]) -> int:
        code = harness.run_inside(lease, is_stopping)
        time.sleep(0.3)  # a process needs a moment to end
        return code

    harness.run_apart = run  # type: ignore[assignment]
    events: list[JobEvent] = []
    worker = harness.worker(log=events.append)
    worker.start()
    worker.wait_until_drained()
    end = "ended" if status == "completed" else "left"
    assert [event.name for event in events] == ["taken_over", "continued", end]
    assert harness.store.queue.list_uncleared() == ()
    worker.stop()


def test_a_death_by_chance_sets_no_precedent(any_harness: WorkerHarness) -> None:
    """After a power cut, later jobs of the flow cost no process each; a second death does."""
    harness = any_harness
    job = harness.add(("say", {"text": "x"}), flow_id=7)
    mark_dead(harness, job)
    run_as_process(harness)
    with harness.working():
        assert harness.wait_for_end(job.id).status == "completed"
    later = harness.add(("say", {"text": "x"}), flow_id=7)
    assert not harness.store.jobs.state(later.id).has_precedent
    mark_dead(harness, later)
    run_as_process(harness, -signal.SIGKILL)
    with harness.working():
        assert harness.wait_for_end(later.id).steps[0].interruptions == 2
    last = harness.add(("say", {"text": "x"}), flow_id=7)
    assert harness.store.jobs.state(last.id).has_precedent


def test_a_later_run_of_a_dangerous_step_begins_in_a_process_of_its_own(
    any_harness: WorkerHarness,
) -> None:
    """A schedule that starts such a job every hour kills one worker and no more."""
    harness = any_harness
    job = harness.add(("say", {"text": "x"}), flow_id=7)
    mark_dead(harness, job)
    left = run_as_process(harness, *[-signal.SIGKILL] * MOST_INTERRUPTIONS)
    with harness.working():
        assert harness.wait_for_end(job.id).status == "failed"
        assert left == [-signal.SIGKILL]
        later = harness.add(("say", {"text": "x"}), flow_id=7)
        assert harness.wait_for_end(later.id).status == "completed"
    assert left == []
    unlike = harness.add(("stumble", {"failures": 0, "text": "x"}), flow_id=7)
    other = harness.add(("say", {"text": "x"}), flow_id=8)
    state = harness.store.jobs.state
    assert [state(job.id).has_precedent for job in (later, unlike, other)] == [False] * 3


def test_a_retry_keeps_to_a_process_of_its_own(any_harness: WorkerHarness) -> None:
    """A person who tries again has the full number of attempts, and the worker survives."""
    harness = any_harness
    job = harness.add(("say", {"text": "x"}))
    mark_dead(harness, job)
    run_as_process(harness, *[-signal.SIGKILL] * (2 * MOST_INTERRUPTIONS - 2))
    with harness.working():
        harness.wait_for_end(job.id)
        assert harness.store.jobs.request(job.id, "retry").steps[0].interruptions == 1
        assert harness.wait_for_end(job.id).steps[0].interruptions == MOST_INTERRUPTIONS


def test_the_doctor_and_the_health_name_a_dangerous_job(harness: WorkerHarness) -> None:
    """From the second death on, until the step completes or the job is cancelled."""
    job = harness.add(("say", {"text": "x"}))
    mark_dead(harness, job)
    assert harness.store.workers.take_over("a-worker-that-died", "next") == (job.id,)
    workspace = harness.workspace
    attention: set[str] = set()
    list_attention(attention, workspace)
    assert (attention, list(check_jobs(CheckRun(workspace.context)))) == (set(), [])
    lease, _ = harness.store.queue.take(job.id, "next")
    assert harness.store.queue.count_interruption(lease, "0") == 2
    [finding] = check_jobs(CheckRun(workspace.context))
    assert finding.detail == (
        f"job {job.id} (Test) is processing: its step Say (say) ended the process that ran it "
        "2 times"
    )
    assert f"looseleaf jobs cancel {job.id}" in finding.advice
    list_attention(attention, workspace)
    assert attention == {f"job-{job.id}"}


def test_a_stop_is_no_interruption(any_harness: WorkerHarness) -> None:
    """A worker that ends before a long step does leaves it as begun, for the next worker."""
    harness = any_harness
    job = harness.add(("say", {"text": "x"}))
    lease = harness.store.queue.claim("stopped", Limits())
    assert lease is not None
    harness.store.queue.begin_step(lease, "0")
    harness.store.workers.begin_stop("stopped")
    assert harness.store.workers.take_over("stopped", "next") == (job.id,)
    _, state = harness.store.queue.take(job.id, "next")
    assert (state.has_precedent, state.job.steps[0].interruptions) == (False, 0)


def test_a_step_that_calls_exit_fails(harness: WorkerHarness) -> None:
    """By the first attempt, and with a reason that shows no secret."""
    job = harness.add(("call-exit", {}))
    with harness.working():
        end = harness.wait_for_end(job.id)
    assert end.status_text == "failed - SystemExit: no more, [secret]"
    assert end.steps[0].attempts == 1
    [report] = harness.reports
    assert "sk-secret" not in report


def test_a_job_whose_plan_cannot_be_read_fails(harness: WorkerHarness) -> None:
    """It is not run again for ever."""
    job = harness.add(("say", {"text": "x"}), snapshot={"pipeline": {}})
    with harness.working():
        assert harness.wait_for_end(job.id).reason.startswith("its plan cannot be read: KeyError")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
def test_a_process_ends_with_its_worker(harness: WorkerHarness) -> None:
    """Another worker takes the job, and no process of the dead one is left to write."""
    job = harness.add(("linger", {}))
    mark_dead(harness, job)
    with worker_process(harness) as process:
        harness.wait(job.id, lambda job: bool(job.steps[0].progress))
        children = list(Path(f"/proc/{process.pid}/task").glob("*/children"))
        [child] = [pid for path in children for pid in path.read_text().split()]
        process.kill()
        process.wait()
    command = Path(f"/proc/{child}/cmdline")
    deadline = time.monotonic() + 60
    while command.exists() and command.read_bytes():  # a zombie has no command
        assert time.monotonic() < deadline
        time.sleep(0.05)


KILLER = """
import os, signal
from looseleaf.features.workflows.step import StepType
from looseleaf.plugins.hooks import hookimpl

def kill(run):
    os.kill(os.getpid(), signal.SIGKILL)

@hookimpl
def register_steps(steps):
    steps.register(StepType(name="kill", label="Kill", description="Kills.", run=kill))
"""


@pytest.mark.slow
def test_a_real_server_dies_once_by_a_step_of_a_plugin(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server that is started again stays up, ends the job, and runs the good ones behind it.

    The plugin lies in the folder where the server is started; the process of the job finds it.
    """
    (tmp_path / "killing_steps.py").write_text(KILLER)
    monkeypatch.syspath_prepend(tmp_path)
    root = tmp_path / "root"
    Workspace.create(root, agent="ada").close()
    with (root / "looseleaf.toml").open("a") as file:
        file.write(f'plugins = ["killing_steps"]\ndatabase_url = "{database_url}"\n')
    text = {"source": "text", "text": "x"}
    plans = [plan_direct_job("killer", (Step("0", "kill", "", {}),), agent_id=1)]
    plans += [
        plan_direct_job(f"good {n}", (Step("0", "input", "", text),), agent_id=1) for n in range(5)
    ]
    command = [sys.executable, "-m", "looseleaf", "serve", "--root", str(root), "--port", "0"]
    with Workspace.open(root) as workspace:
        jobs = jobs_of(workspace).jobs
        ids = [jobs.add(plan)[0].id for plan in plans]
        first = subprocess.run(command, check=False, cwd=tmp_path)
        assert first.returncode == -signal.SIGKILL
        server = subprocess.Popen(command, cwd=tmp_path)
        try:
            deadline = time.monotonic() + 120
            while not all(jobs.find(job_id).is_final for job_id in ids):
                assert server.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.1)
        finally:
            server.terminate()
            assert server.wait(60) in {0, -signal.SIGTERM}
        assert [jobs.find(job_id).status for job_id in ids] == ["failed"] + ["completed"] * 5
        assert jobs.find(ids[0]).steps[0].interruptions == MOST_INTERRUPTIONS
