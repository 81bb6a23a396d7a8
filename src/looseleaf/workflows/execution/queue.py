"""The contracts that workers share: the queue of jobs, leases of jobs, and signs of life."""

from __future__ import annotations

from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from looseleaf.workflows.job import Job, JobStatus
    from looseleaf.workflows.job_list import JobState
    from looseleaf.workflows.step import StepOutcome
else:
    Protocol = object

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

    def begin_step(self, lease: JobLease, step_id: str) -> int:
        """Record that a step begins, and return the number of the attempt."""

    def end_step(self, lease: JobLease, step_id: str, outcome: StepOutcome) -> StepOutcome:
        """Record an outcome once; return the outcome that was recorded first."""

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

    def leave(self, worker: str) -> None:
        """Record that a worker has stopped."""

    def beats(self) -> Mapping[str, int]:
        """Return all workers that have not stopped, each with the number of its signs of life."""

    def take_over(self, dead: str, worker: str) -> tuple[int, ...]:
        """Transfer the jobs of a dead worker to another one, and return them."""
