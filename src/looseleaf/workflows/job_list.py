"""The list of jobs, as surfaces use it: filters, the state of a job, and the contract of a store.

Every request, also to cancel, pause or signal a job, is a change of a row, which a worker notices.
"""

from __future__ import annotations

from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any, Literal, Protocol

    from looseleaf.workflows.job import Job, JobStatus, NewJob
    from looseleaf.workflows.step import StepOutcome

    JobRequest = Literal["cancel", "pause", "resume", "retry"]
else:
    Protocol = object


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
    """

    job: Job
    snapshot: Mapping[str, Any] = FrozenDict()
    outcomes: Mapping[str, StepOutcome] = FrozenDict()
    signals: Mapping[str, Mapping[str, Any]] = FrozenDict()

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
