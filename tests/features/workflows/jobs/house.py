"""A workspace with steps of the tests' own, and workers on a real database.

As a program, it runs a worker until it is told to stop: `python -m
tests.features.workflows.jobs.house ROOT DATABASE_URL`. Tests kill such a program at every point
that a step names. With the fields of a lease after these, it runs a job that a step has ended a
worker in, as `looseleaf.features.workflows.jobs.job_process` does.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

from looseleaf import Workspace
from looseleaf.errors import Unavailable
from looseleaf.features.workflows.definitions import Step
from looseleaf.features.workflows.jobs.effects import edit_once
from looseleaf.features.workflows.jobs.job import Job
from looseleaf.features.workflows.jobs.job_process import follow_worker, run_in_process
from looseleaf.features.workflows.jobs.queue import JobLease, JobState, Limits
from looseleaf.features.workflows.jobs.run import JobParts, plan_direct_job
from looseleaf.features.workflows.jobs.runtime import LockFiles
from looseleaf.features.workflows.jobs.sql_queue import SqlJobStore
from looseleaf.features.workflows.jobs.worker import (
    JobEvent,
    Worker,
    WorkerOptions,
    create_worker_id,
    run_leased,
)
from looseleaf.features.workflows.packet import create_packet, register_core_packets
from looseleaf.features.workflows.schedules import ScheduleFiring
from looseleaf.features.workflows.step import (
    StepOutcome,
    StepRun,
    StepServices,
    StepType,
    StepTypes,
)
from looseleaf.memory.provenance import Provenance
from looseleaf.memory.sections import append_lines
from looseleaf.memory.store import Change
from looseleaf.stores.database.database import Database

# Quick looks, so that tests wait for events and never for a clock.
QUICK = WorkerOptions(
    poll_seconds=0.05, beat_seconds=0.1, silent_seconds=1.0, stop_seconds=5.0, limits=Limits()
)


class WorkspaceServices:
    """What the tests' steps may use."""

    def __init__(self, workspace: Workspace, store: SqlJobStore) -> None:
        self.pages, self.history = workspace.pages, workspace.history
        self.intents, self.clock = store.intents, time.time
        self.agents = workspace.agents


def die_at(run: StepRun, point: str) -> None:
    """Kill this process if the settings of the step say so, once."""
    mark = Path(run.settings.get("mark", "/nowhere"))
    if run.settings.get("die") == point and not mark.exists():
        mark.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)


def end_process(_run: StepRun) -> StepOutcome:
    """End the process that runs the step."""
    os.kill(os.getpid(), signal.SIGKILL)
    return StepOutcome()


def call_exit(_run: StepRun) -> StepOutcome:
    """Call sys.exit, with a secret in its text."""
    sys.exit("no more, sk-secret-of-a-provider")


def say(run: StepRun) -> StepOutcome:
    """Return a packet with a text."""
    die_at(run, "begin")
    packet = create_packet("item", {"content": run.settings["text"]}, now=run.parts.clock())
    die_at(run, "end")
    return StepOutcome(packets=(packet,))


def note(run: StepRun) -> StepOutcome:
    """Append the newest text to a page of the agent, once."""
    die_at(run, "begin")
    parts = cast("Any", run.parts)
    page = parts.agents.resolve(run.job.agent_id).shelf.page("notes.md")
    line = f"{run.job.id}: {run.packets[0].data['content']} ({run.step.id})"

    def edit(text: str) -> str:
        die_at(run, "middle")
        return append_lines(text, line)

    write = edit_once(run, page, edit, change=Change("append", Provenance("tests")))
    die_at(run, "end")
    return StepOutcome(packets=(run.packets[0],), writes=(write,))


def stumble(run: StepRun) -> StepOutcome:
    """Fail as often as the settings say, then give a packet."""
    if run.attempt <= run.settings["failures"]:
        raise Unavailable("The server", run.settings.get("why", "it timed out"))
    return say(run)


def linger(run: StepRun) -> StepOutcome:
    """Run until the job is to end."""
    run.report_progress("waiting for the end")
    while not run.is_cancelled():
        time.sleep(0.01)
    return StepOutcome(status="failed", reason="nobody should see this")


def hold_gate(run: StepRun) -> StepOutcome:
    """Wait for a call, then give its body."""
    if run.signal is None:
        seconds = run.settings.get("seconds", 0.0)
        return StepOutcome(status="waiting", reason="a call", gate="digest", wait_seconds=seconds)
    packet = create_packet("item", {"content": run.signal["text"]}, now=run.parts.clock())
    return StepOutcome(packets=(packet,))


def end_as(run: StepRun) -> StepOutcome:
    """End the job with an outcome of the settings."""
    return StepOutcome(status=run.settings["status"], reason=run.settings.get("why", ""))


def break_down(_run: StepRun) -> StepOutcome:
    """Fail by a fault of the step itself."""
    raise ZeroDivisionError("a fault")


def step_types() -> StepTypes:
    """Return the types of steps of the tests."""
    types = StepTypes()
    register_core_packets(types.packets)
    steps = (say, note, stumble, linger, hold_gate, end_as, break_down, end_process, call_exit)
    for function in steps:
        name = function.__name__.replace("_", "-")
        types.register(
            StepType(name=name, label=name.title(), description=str(function.__doc__), run=function)
        )
    return types


class Observer:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, str]] = []
        self.jobs: list[Job] = []

    def step_ended(self, state: JobState, step_id: str) -> None:
        self.steps.append((state.job.id, step_id))

    def job_ended(self, job: Job) -> None:
        self.jobs.append(job)


class WorkerHarness:
    """A workspace, its database of jobs, and the workers that a test starts."""

    def __init__(self, root: Path, database_url: str = "") -> None:
        self.root, self.database_url = root, database_url
        if not (root / "looseleaf.toml").exists():
            Workspace.create(root, agent="ada").close()
        self.workspace = Workspace.open(root)
        self.database = Database(database_url, str(root))
        self.store = SqlJobStore(self.database, clock=time.time)
        self.observer = Observer()
        self.reports: list[str] = []
        self.entries: list[Any] = []
        command = (sys.executable, "-m", "tests.features.workflows.jobs.house", str(root))
        self.run_apart = partial(run_in_process, (*command, database_url))

    def close(self) -> None:
        self.database.close()
        self.workspace.close()

    def report(self, label: str, error: Exception) -> None:
        self.reports.append(f"{label}: {type(error).__name__}: {error}")
        sys.stderr.write(self.reports[-1] + "\n")

    def worker(
        self, options: WorkerOptions = QUICK, log: Callable[[JobEvent], None] | None = None
    ) -> Worker:
        """Return a worker that is not started."""
        parts = self.job_parts()
        firing = ScheduleFiring(
            self.store.schedules,
            lambda: self.entries,
            lambda _entry, _due, _key: [],
            clock=time.time,
            report=self.report,
        )
        locks = LockFiles(str(self.root), ".looseleaf/workers")
        worker = Worker(
            create_worker_id(), parts, self.store.workers, locks, firing, options=options, log=log
        )
        self.store.jobs.on_work(worker.wake)
        return worker

    def job_parts(self) -> JobParts:
        """Return the parts of a worker, or of a job in a process of its own."""
        return JobParts(
            queue=self.store.queue,
            step_types=step_types(),
            open_parts=lambda _job: cast(
                "StepServices", WorkspaceServices(self.workspace, self.store)
            ),
            observer=self.observer,
            run_apart=self.run_apart,
            mask=lambda text: text.replace("sk-secret-of-a-provider", "[secret]"),
            clock=time.time,
            report=self.report,
        )

    def run_inside(self, lease: JobLease, is_stopping: Callable[[], bool]) -> int:
        """Run the rest of a job as its own process would, and start none."""
        run_leased(self.job_parts(), lease, is_stopping)
        return 0

    @contextlib.contextmanager
    def working(self, options: WorkerOptions = QUICK) -> Iterator[Worker]:
        """Run a worker in this process."""
        worker = self.worker(options)
        worker.start()
        try:
            yield worker
        finally:
            worker.stop()

    def add(self, *steps: tuple[str, dict[str, Any]], **fields: Any) -> Job:  # noqa: ANN401
        """Add a job of the agent ada with steps by type and settings."""
        job_steps = tuple(
            Step(str(n), kind, "", settings) for n, (kind, settings) in enumerate(steps)
        )
        agent = self.workspace.agents.resolve("ada")
        job = plan_direct_job("Test", job_steps, agent_id=fields.pop("agent_id", agent.id))
        from looseleaf.values import replace

        return self.store.jobs.add(replace(job, **fields))[0]

    def wait(self, job_id: int, check: Callable[[Job], bool], seconds: float = 60.0) -> Job:
        """Wait until a job is as it should be."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            job = self.store.jobs.find(job_id)
            if check(job):
                return job
            time.sleep(0.02)
        raise AssertionError(f"the job did not get there: {self.store.jobs.find(job_id)}")

    def wait_for_end(self, job_id: int, seconds: float = 60.0) -> Job:
        """Wait until a job has ended."""
        return self.wait(job_id, lambda job: job.is_final, seconds)

    @property
    def notes(self) -> list[str]:
        """The lines of the page that the steps write."""
        page = self.root / "agents" / "ada" / "notes.md"
        return page.read_text().splitlines() if page.exists() else []


def main(root: str, database_url: str = "", *lease: str) -> None:
    """Run a worker until a signal comes, or the job of a lease."""
    harness = WorkerHarness(Path(root), database_url)
    if lease == ("inside",):
        harness.run_apart = harness.run_inside  # type: ignore[assignment]
    elif lease:
        job_id, worker, run, *_paths = lease
        stop_event = follow_worker()
        held = JobLease(int(job_id), worker, int(run))
        run_leased(harness.job_parts(), held, stop_event.is_set)
        return
    stop_event = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop_event.set())
    with harness.working():
        print("working", flush=True)  # noqa: T201 - the test waits for this line
        stop_event.wait()
    harness.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
