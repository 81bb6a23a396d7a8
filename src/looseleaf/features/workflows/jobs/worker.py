"""The worker: a thread that takes jobs, fires schedules and continues the jobs of dead workers."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from functools import partial

from looseleaf.errors import LooseleafError, Unavailable
from looseleaf.errors.features import JobLost
from looseleaf.features.workflows.jobs.queue import JobOutcome, Limits
from looseleaf.features.workflows.jobs.run import (
    CANNOT_RUN,
    MOST_INTERRUPTIONS,
    STOP,
    JobRun,
    describe_exit,
    fail_interrupted,
)
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Literal, Protocol

    from looseleaf.features.workflows.jobs.job import Job
    from looseleaf.features.workflows.jobs.queue import JobLease, JobQueue, JobState, Workers
    from looseleaf.features.workflows.jobs.run import JobParts

    EventName = Literal[
        "started", "continued", "interrupted", "taken_over", "left", "ended", "failed"
    ]  # fmt: skip
else:
    Protocol = object


# Dead workers: found at once by a lock on the same machine, and elsewhere by a timeout.


class HeldLock(Protocol):
    """A lock that ends with its process."""

    def close(self) -> None:
        """Release the lock."""


class LifeLocks(Protocol):
    """Locks that tell at once when a worker on the same machine has died."""

    def hold(self, name: str) -> HeldLock:
        """Hold the lock of a worker until it stops."""

    def is_free(self, name: str) -> bool | None:
        """Return whether a worker has died, or None if it does not run on this machine."""

    def remove(self, name: str) -> None:
        """Discard the lock of a dead worker."""


class DeathWatch:
    """Finds the workers that died.

    The number of a worker's signs of life is compared with the number seen before, and the time
    between is measured by the steady clock of this process, so that the clocks of machines may
    differ or jump.
    """

    def __init__(
        self,
        workers: Workers,
        locks: LifeLocks,
        silent_seconds: float,
        *,
        steady_clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._workers, self._locks = workers, locks
        self._silent_seconds, self._steady_clock = silent_seconds, steady_clock
        self._last_beats: dict[str, tuple[int, float]] = {}  # and when they last changed
        self._live_workers: set[str] = set()  # those that have given a sign of life since

    def find(self, own_id: str) -> tuple[str, ...]:
        """Name the workers that died, except this one."""
        now = self._steady_clock()
        beats = self._workers.beats()
        self._last_beats = {name: last for name, last in self._last_beats.items() if name in beats}
        dead_workers = []
        for name, count in beats.items():
            if name == own_id:
                continue
            is_free = self._locks.is_free(name)
            last_count, since = self._last_beats.get(name, (-1, now))
            if is_free is False or (count != last_count and name in self._last_beats):
                self._live_workers.add(name)
            if count != last_count:
                self._last_beats[name] = (count, now)
            elif is_free is None and now - since > self._silent_seconds:
                dead_workers.append(name)
            if is_free:
                dead_workers.append(name)
        return tuple(dead_workers)

    def list_unknown(self) -> tuple[str, ...]:
        """Name the workers elsewhere that may be dead: they have given no sign of life yet."""
        return tuple(name for name in self._last_beats if name not in self._live_workers)


# Events of jobs for the log of a worker: a job starts, continues, is taken over, ends or waits.


@value
class JobEvent:
    """An event of a job.

    Fields:
        name: The kind of event; a job that is `left` continues later.
        job_id: The number of the job.
        job: The job, or None if it was taken over, and not yet read.
        detail: The step at which a job continues, the worker that died, or how a process did.
        is_apart: Whether the job runs in a process of its own, since a step has ended a process.
    """

    name: EventName
    job_id: int
    job: Job | None = None
    detail: str = ""
    is_apart: bool = False

    def describe(self) -> str:
        """Describe the event for people, with the name of the job and the reason of a failure."""
        job = self.job
        if job is None:
            return f"Job {self.job_id}: taken over, since worker {self.detail} died."
        apart = " in a process of its own" if self.is_apart else ""
        if self.name == "started":
            return f"Job {job.id} ({job.label}) begins{apart}."
        if self.name == "continued":
            place = f"at {self.detail}" if self.detail else "after its last step"
            return f"Job {job.id} ({job.label}) continues {place}{apart}."
        if self.name == "interrupted":
            return f"Job {job.id} ({job.label}): its process ended by {self.detail}."
        return f"Job {job.id}: {job.status_text} ({job.seconds:.1f} s)."


def build_start_event(job: Job, position: int, *, is_apart: bool = False) -> JobEvent:
    """Return the event of a job whose run begins at the step of a position."""
    if position >= len(job.steps):
        return JobEvent("continued", job.id, job)
    step = job.steps[position]
    if not position and not step.attempts:
        return JobEvent("started", job.id, job, is_apart=is_apart)
    return JobEvent("continued", job.id, job, step.label or step.type, is_apart)


def build_end_event(job: Job) -> JobEvent:
    """Return the event of a job that a worker releases: it has ended, or continues later."""
    if not job.is_final:
        return JobEvent("left", job.id, job)
    return JobEvent("failed" if job.status == "failed" else "ended", job.id, job)


# The jobs that a worker runs now: a thread for each, and the requests of people.


THREAD_NAME = "looseleaf-job"
_STRAY_LOOKS = 2  # a job that is seen so often without a thread is a stray


class RunningJobs:
    """The jobs of one worker, each in a thread of its own; `on_end` is called after each."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        self._on_end = on_end
        self._condition = threading.Condition()
        self._requested_actions: dict[int, str] = {}  # of the jobs that run
        self._looks: dict[int, int] = {}  # jobs of this worker that were seen without a thread

    def start(self, job_id: int, run_job: Callable[[int], None]) -> None:
        """Run a job in a new thread, unless a thread runs the job already."""
        with self._condition:
            if job_id in self._requested_actions:
                return
            self._requested_actions[job_id] = ""
        name = f"{THREAD_NAME}-{job_id}"
        thread = threading.Thread(target=self._run, args=(job_id, run_job), name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the system has no thread left; the job is found as a stray
            self._end(job_id)
            raise

    def _run(self, job_id: int, run_job: Callable[[int], None]) -> None:
        try:
            run_job(job_id)
        finally:
            self._end(job_id)
            self._on_end()

    def _end(self, job_id: int) -> None:
        with self._condition:
            del self._requested_actions[job_id]
            self._condition.notify_all()

    def count(self) -> int:
        """Return the number of jobs."""
        return len(self._requested_actions)

    def find_requested_action(self, job_id: int) -> str:
        """Return the request of people for a job: cancel, pause or ""."""
        return self._requested_actions.get(job_id, "")

    def set_requested_actions(self, actions: Mapping[int, str]) -> None:
        """Record the requests of people for the jobs."""
        with self._condition:
            for job_id in self._requested_actions:
                self._requested_actions[job_id] = actions.get(job_id, "")

    def find_strays(self, jobs: Collection[int]) -> tuple[int, ...]:
        """Return the jobs of this worker that had no thread at two checks in a row."""
        with self._condition:
            lone = [job_id for job_id in jobs if job_id not in self._requested_actions]
            self._looks = {job_id: self._looks.get(job_id, 0) + 1 for job_id in lone}
            return tuple(job for job, looks in self._looks.items() if looks >= _STRAY_LOOKS)

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait until no thread runs a job; return whether that was in time."""
        with self._condition:
            return self._condition.wait_for(lambda: not self._requested_actions, seconds)


_RECONCILIATION_SECONDS = 30.0
_LOOK_SECONDS = 0.5  # between two looks at the requests of people, in a process of a job
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

    def wait_until_drained(self, log: Callable[[str], None] | None = None) -> None:
        """Wait until schedules have fired, and no job is due, run by this worker or abandoned.

        A worker that has jobs and is not on this machine may be dead, such as after a restore of
        a backup. Its next sign of life, or its silence, decides; `log` is told of the wait.
        """
        self._has_looked.wait()
        told = False
        while not self._stopping.is_set():
            queue = self._parts.queue
            # In this order: a due job that is claimed in between is one of this worker, and a
            # thread ends after the job that it ran has left the queue.
            is_drained = not queue.count_due() and not queue.list_requested_actions(self.id)
            if is_drained and not self._jobs.count():
                unknown = [
                    name
                    for name in self._deaths.list_unknown()
                    if queue.list_requested_actions(name)
                ]
                if not unknown:
                    return
                if log is not None and not told:
                    told = True
                    seconds = self._options.silent_seconds + self._options.beat_seconds
                    log(
                        f"Waiting up to {seconds:.0f} s for a sign of life of {', '.join(unknown)}."
                    )
            self._stopping.wait(_DRAIN_SECONDS)

    def stop(self) -> None:
        """Stop taking jobs, release running ones at the end of their step, and end."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        if self._jobs.count():
            self._begin_stop()
        is_idle = self._jobs.wait_until_idle(self._options.stop_seconds)
        if is_idle:
            self._leave()
        if self._life is not None:
            self._life.close()

    def _begin_stop(self) -> None:
        """Record the stop; if that fails, the steps that are left count as interrupted."""
        try:
            self._workers.begin_stop(self.id)
        except LooseleafError as error:
            self._parts.report("The stop of the worker was not noted", error)

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
            is_apart = state.has_precedent and state.position < len(state.job.steps)
            self._log(build_start_event(state.job, state.position, is_apart=is_apart))
            if is_apart:
                job = self._run_apart(lease, state)
            else:
                find_action = partial(self._find_requested_action, job_id)
                outcome = JobRun(self._parts, lease, state, find_action).run()
                job = self._parts.queue.release(lease, outcome)
            if job.is_final:
                self._clear(job)
            else:
                self._log(build_end_event(job))
        except JobLost:
            return  # the job has ended, or another worker has it now and records its end
        except Exception as error:  # noqa: BLE001 - the job is still ours, and is run again
            self._parts.report(f"The job {job_id} is run again", error)

    def _run_apart(self, lease: JobLease, state: JobState) -> Job:
        """Run the rest of a job in processes of its own, and return the job once it is released."""
        queue, exit_code = self._parts.queue, None
        while state.job.steps[state.position].interruptions < MOST_INTERRUPTIONS:
            attempts = {step.id: step.attempts for step in state.job.steps}
            exit_code = self._parts.run_apart(lease, self._stopping.is_set)
            try:
                _, state = queue.take(lease.job_id, self.id)
            except JobLost:
                job = queue.find(lease.job_id)
                if job.status == "processing":  # by another worker
                    raise
                return job
            if state.position == len(state.job.steps):
                return queue.release(lease, JobOutcome("completed"))
            if self._stopping.is_set():
                raise JobLost(lease.job_id)
            step = state.job.steps[state.position]
            # A step may end its process with this code too, and must not run for ever.
            if exit_code == CANNOT_RUN and step.attempts == attempts[step.id]:
                raise Unavailable("The process of the job", "it could not begin a step")
            queue.count_interruption(lease, step.id)
            self._log(JobEvent("interrupted", lease.job_id, state.job, describe_exit(exit_code)))
            _, state = queue.take(lease.job_id, self.id)
        return queue.release(lease, fail_interrupted(self._parts, lease, state, exit_code))

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


def run_leased(parts: JobParts, lease: JobLease, is_stopping: Callable[[], bool]) -> None:
    """Run the rest of a job under a lease that a worker holds, and release it."""
    held, state = parts.queue.take(lease.job_id, lease.worker)
    if held != lease:
        raise JobLost(lease.job_id)
    looks = ActionLooks(parts.queue, lease)

    def find_action() -> str:
        return STOP if is_stopping() else looks.find_requested_action()

    parts.queue.release(lease, JobRun(parts, lease, state, find_action).run())


class ActionLooks:
    """The request of people for a leased job, looked up now and then."""

    def __init__(self, queue: JobQueue, lease: JobLease) -> None:
        self._queue, self._lease = queue, lease
        self._action, self._next_look = "", 0.0

    def find_requested_action(self) -> str:
        """Return the request: cancel, pause or ""."""
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + _LOOK_SECONDS
            actions = self._queue.list_requested_actions(self._lease.worker)
            self._action = actions.get(self._lease.job_id, "")
        return self._action


def _log_nothing(_event: JobEvent) -> None:
    """Keep no log."""
