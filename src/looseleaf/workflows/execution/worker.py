"""The worker: a thread that takes jobs, fires schedules and continues the jobs of dead workers."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from functools import partial

from looseleaf.errors import LooseleafError
from looseleaf.errors.workflows import JobLost
from looseleaf.values import value
from looseleaf.workflows.execution.dead_workers import DeathWatch
from looseleaf.workflows.execution.job_event import JobEvent, build_end_event, build_start_event
from looseleaf.workflows.execution.job_run import STOP, JobRun
from looseleaf.workflows.execution.queue import Limits
from looseleaf.workflows.execution.running_jobs import RunningJobs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from looseleaf.workflows.execution.dead_workers import HeldLock, LifeLocks
    from looseleaf.workflows.execution.job_run import JobParts
    from looseleaf.workflows.execution.queue import Workers
    from looseleaf.workflows.job import Job
else:
    Protocol = object

_RECONCILIATION_SECONDS = 30.0
_DRAIN_SECONDS = 0.05  # between two checks whether everything is done


@value
class WorkerOptions:
    """The options of a worker.

    Fields:
        jobs_at_once: Jobs that this worker runs at a time.
        limits: Limits of all workers together.
        poll_seconds: The time between two checks of the queue when nobody wakes the worker.
        beat_seconds: The time between two signs of life.
        silent_seconds: A worker without a sign of life for this time is dead.
        stop_seconds: The time that running steps have to end when the worker stops.
    """

    jobs_at_once: int = 4
    limits: Limits = Limits()
    poll_seconds: float = 1.0
    beat_seconds: float = 5.0
    silent_seconds: float = 15.0
    stop_seconds: float = 10.0


class Schedules(Protocol):
    """The schedules that a worker fires."""

    def fire_due(self) -> int:
        """Start the jobs that are due, and return how many."""

    def reconcile(self) -> object:
        """Align the stored schedules with flows and plugins."""


def create_worker_id() -> str:
    """Create a unique id, which shows people the machine and the process of the worker."""
    return f"{socket.gethostname()[:40]}-{os.getpid()}-{secrets.token_hex(4)}"


class Worker:
    """Runs jobs until it is stopped; one for each process and workspace."""

    def __init__(
        self,
        worker_id: str,
        parts: JobParts,
        workers: Workers,
        locks: LifeLocks,
        schedules: Schedules,
        *,
        options: WorkerOptions,
        log: Callable[[JobEvent], None] | None = None,
    ) -> None:
        self.id, self._log = worker_id, log or _log_nothing
        self._parts, self._schedules, self._options = parts, schedules, options
        self._deaths = DeathWatch(workers, locks, options.silent_seconds)
        self._workers, self._locks = workers, locks
        self._wake, self._stopping = threading.Event(), threading.Event()
        self._has_looked = threading.Event()
        self._jobs = RunningJobs(self.wake)
        self._left_jobs: list[int] = []  # jobs of this worker that wait to be continued
        self._thread: threading.Thread | None = None
        self._life: HeldLock | None = None
        self._next_beat = self._next_reconciliation = 0.0

    def start(self) -> None:
        """Begin to work in threads of its own."""
        self._life = self._locks.hold(self.id)
        self._workers.beat(self.id, socket.gethostname())
        self._thread = threading.Thread(target=self._work, name="looseleaf-worker", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Look at the queue now."""
        self._wake.set()

    def wait_until_drained(self) -> None:
        """Wait until schedules have fired, and no job is due or run by this worker."""
        self._has_looked.wait()
        while not self._stopping.is_set():
            queue = self._parts.queue
            if not queue.list_requested_actions(self.id) and not queue.count_due():
                return
            self._stopping.wait(_DRAIN_SECONDS)

    def stop(self) -> None:
        """Stop taking jobs, release running ones at the end of their step, and end."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        is_idle = self._jobs.wait_until_idle(self._options.stop_seconds)
        if is_idle:
            self._leave()
        if self._life is not None:
            self._life.close()

    def _leave(self) -> None:
        """Record the end; if that fails, other workers find the lock of this worker free."""
        try:
            self._workers.leave(self.id)
        except LooseleafError as error:
            self._parts.report("The end of the worker was not noted", error)

    def _work(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                self._look()
                self._has_looked.set()
            except Exception as error:  # noqa: BLE001 - one failure must not end all schedules
                self._parts.report("The worker goes on after a failure", error)
            self._wake.wait(self._options.poll_seconds)

    def _look(self) -> None:
        """Do everything that is due now."""
        now = time.monotonic()
        if now >= self._next_beat:
            self._next_beat = now + self._options.beat_seconds
            self._beat()
        if now >= self._next_reconciliation:
            self._next_reconciliation = now + _RECONCILIATION_SECONDS
            self._schedules.reconcile()
        self._schedules.fire_due()
        if self._jobs.count():
            self._jobs.set_requested_actions(self._parts.queue.list_requested_actions(self.id))
        self._claim()

    def _beat(self) -> None:
        self._workers.beat(self.id, socket.gethostname())
        for dead in self._deaths.find(self.id):
            for job_id in self._workers.take_over(dead, self.id):
                self._log(JobEvent("taken_over", job_id, detail=dead))
                self._left_jobs.append(job_id)
            self._locks.remove(dead)
        strays = self._jobs.find_strays(self._parts.queue.list_requested_actions(self.id))
        self._left_jobs += [job_id for job_id in strays if job_id not in self._left_jobs]
        self._parts.queue.expire()
        for job in self._parts.queue.list_uncleared():
            self._clear(job)

    def _claim(self) -> None:
        """Run as many jobs as may run at once: first those that were left, then new ones."""
        while not self._stopping.is_set() and self._jobs.count() < self._options.jobs_at_once:
            if self._left_jobs:
                job_id = self._left_jobs.pop(0)
            else:
                lease = self._parts.queue.claim(self.id, self._options.limits)
                if lease is None:
                    return
                job_id = lease.job_id
            self._jobs.start(job_id, self._run_job)

    def _run_job(self, job_id: int) -> None:
        """Run a job from its first step without an outcome, and release it in its new state."""
        try:
            lease, state = self._parts.queue.take(job_id, self.id)
            self._log(build_start_event(state.job, state.position))
            run = JobRun(self._parts, lease, state, partial(self._find_requested_action, job_id))
            job = self._parts.queue.release(lease, run.run())
            if job.is_final:
                self._clear(job)
            else:
                self._log(build_end_event(job))
        except JobLost:
            return  # the job has ended, or another worker has it now and records its end
        except Exception as error:  # noqa: BLE001 - the job is still ours, and is run again
            self._parts.report(f"The job {job_id} is run again", error)

    def _clear(self, job: Job) -> None:
        """Clear the data that a job no longer needs; after a crash, this is repeated.

        It is called for every job that ends, also for one that was cancelled or waited too long,
        and perhaps by two threads at once: one that ran the job, and one that looks for such jobs.
        """
        self._parts.observer.job_ended(job)
        if self._parts.queue.note_cleared(job.id):
            self._log(build_end_event(job))

    def _find_requested_action(self, job_id: int) -> str:
        return STOP if self._stopping.is_set() else self._jobs.find_requested_action(job_id)


def _log_nothing(_event: JobEvent) -> None:
    """Keep no log."""
