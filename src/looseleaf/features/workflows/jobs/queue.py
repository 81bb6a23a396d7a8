"""The contracts that workers and surfaces share: the queue and the list of jobs."""

from __future__ import annotations

from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any, Literal, Protocol

    from looseleaf.features.workflows.jobs.job import Job, JobStatus, NewJob
    from looseleaf.features.workflows.step import StepOutcome

    JobRequest = Literal["cancel", "pause", "resume", "retry"]
else:
    Protocol = object


# The contracts that workers share: the queue of jobs, leases of jobs, and signs of life.


CANCEL, PAUSE = "cancel", "pause"


@value
class Limits:
    """How many jobs run at once; 0 for no limit.

    Fields:
        per_agent: Jobs of one agent, in all workers together.
        per_model: Jobs with one model, in all workers together.
    """

    per_agent: int = 0
    per_model: int = 0


@value
class JobLease:
    """A job that a worker runs; another worker that takes the job ends the lease.

    Fields:
        job_id: The job.
        worker: The id of the worker.
        run: The number of times that a worker has claimed the job.
    """

    job_id: int
    worker: str
    run: int


@value
class JobOutcome:
    """The state that a worker leaves a job in.

    Fields:
        status: The new status.
        reason: Why the job failed, waits or was skipped.
        not_before: With pending: no worker takes the job before this time.
        is_retry: Whether a failure that passes by itself is the reason.
    """

    status: JobStatus
    reason: str = ""
    not_before: float = 0.0
    is_retry: bool = False


class JobQueue(Protocol):
    """Jobs for workers to claim, run and release; raises `JobLost` if another has the job."""

    def claim(self, worker: str, limits: Limits) -> JobLease | None:
        """Claim the oldest job that is due and within the limits."""

    def take(self, job_id: int, worker: str) -> tuple[JobLease, JobState]:
        """Return the lease of a job that the worker has claimed or taken over, and its state."""

    def find(self, job_id: int) -> Job:
        """Return a job, whoever runs it, or raise `JobMissing`."""

    def begin_step(self, lease: JobLease, step_id: str) -> int:
        """Record that a step begins, and return the number of the attempt."""

    def end_step(self, lease: JobLease, step_id: str, outcome: StepOutcome) -> StepOutcome:
        """Record an outcome once; return the outcome that was recorded first."""

    def count_interruption(self, lease: JobLease, step_id: str) -> int:
        """Count that the process that ran a step died; return how often that happened."""

    def report_progress(self, lease: JobLease, step_id: str, text: str) -> None:
        """Record the progress of a step."""

    def release(self, lease: JobLease, outcome: JobOutcome) -> Job:
        """Release a job in a state that needs no worker, and return the job."""

    def expire(self) -> int:
        """Fail the jobs that waited too long for a call; return how many there were."""

    def list_uncleared(self) -> tuple[Job, ...]:
        """Return jobs that have ended and whose memory is still to be cleared."""

    def note_cleared(self, job_id: int) -> bool:
        """Record that the memory of an ended job is cleared; return whether it was not before."""

    def count_due(self) -> int:
        """Return the number of jobs that a worker could take now, whatever the limits."""

    def list_requested_actions(self, worker: str) -> Mapping[int, str]:
        """Return the jobs that a worker runs, each with its request: cancel, pause or ""."""


class Workers(Protocol):
    """The processes that run jobs, and their signs of life."""

    def beat(self, worker: str, host: str) -> None:
        """Record that a worker is alive."""

    def begin_stop(self, worker: str) -> None:
        """Record that a worker stops: the steps that it leaves count as begun, not interrupted."""

    def leave(self, worker: str) -> None:
        """Record that a worker has stopped."""

    def beats(self) -> Mapping[str, int]:
        """Return all workers that have not stopped, each with the number of its signs of life."""

    def take_over(self, dead: str, worker: str) -> tuple[int, ...]:
        """Transfer the jobs of a dead worker to another one, and return them.

        The steps that were under way count as interrupted once more.
        """


# The list of jobs, as surfaces use it: filters, the state of a job, and the contract of a
# store.
# Every request, also to cancel, pause or signal a job, is a change of a row, which a worker
# notices.


@value(kw_only=True)
class JobFilter:
    """Which jobs a list shows; fields that are None, 0 or "" leave nothing out."""

    statuses: tuple[JobStatus, ...] = ()
    pipeline_id: int | None = None
    flow_id: int | None = None
    agent_ids: tuple[int, ...] | None = None
    source: str = ""
    task_type: str = ""
    parent_id: int = 0
    created_from: float = 0.0
    created_until: float = 0.0
    ended_until: float = 0.0


@value
class JobState:
    """A job with all that its next step needs.

    Fields:
        job: The job with its steps.
        snapshot: The configuration that the job runs by.
        outcomes: The recorded outcome of each step that has ended, by the id of the step.
        signals: The body of the call that a waiting step got, by the id of the step.
        has_precedent: Whether the process of such a step has died, in this job or in another one
            of the same flow (for a job without a flow: of the same agent and task). A step that
            has completed after one such death does not count: a power cut stops any step.
    """

    job: Job
    snapshot: Mapping[str, Any] = FrozenDict()
    outcomes: Mapping[str, StepOutcome] = FrozenDict()
    signals: Mapping[str, Mapping[str, Any]] = FrozenDict()
    has_precedent: bool = False

    @property
    def position(self) -> int:
        """The position of the first step without an outcome; the number of steps at the end."""
        positions = (n for n, step in enumerate(self.job.steps) if step.id not in self.outcomes)
        return next(positions, len(self.job.steps))


class Jobs(Protocol):
    """The jobs of a workspace, as users see and direct them."""

    def add(self, job: NewJob) -> tuple[Job, bool]:
        """Add a pending job, with True; or return the job that has the same key, with False."""

    def find(self, job_id: int) -> Job:
        """Return a job with its steps, or raise `JobMissing`."""

    def state(self, job_id: int) -> JobState:
        """Return a job with its configuration and the outcomes of its steps."""

    def list(self, jobs: JobFilter, *, limit: int = 50, offset: int = 0) -> tuple[list[Job], int]:
        """Return a page of jobs, newest first, and the number of all that match."""

    def request(self, job_id: int, act: JobRequest) -> Job:
        """Request an action; raise `Refused` if the status of the job forbids it."""

    def signal(self, job_id: int, step_id: str, body: Mapping[str, Any], *, gate: str) -> Job:
        """Wake a waiting job, once; `gate` is the digest of the secret that the call brought."""

    def delete(self, jobs: Collection[int]) -> int:
        """Remove jobs that have ended; return how many there were."""
