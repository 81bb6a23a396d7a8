"""The contracts of durable execution: the list of jobs, and the engine that runs them.

Surfaces use `Jobs` alone: every request, also to cancel, pause or signal, is a change of a row,
which a worker notices. Only the worker uses the engine, so that listing, showing and starting jobs
need no engine.
"""

from __future__ import annotations

from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
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
        """Ask for an act; `Refused` where the status of the job forbids it."""

    def signal(self, job_id: int, step_id: str, body: Mapping[str, Any], *, gate: str) -> Job:
        """Wake a waiting job, once; `gate` is the digest of the secret that the call brought."""

    def delete(self, jobs: Collection[int]) -> int:
        """Remove jobs that have ended; return how many there were."""


class RunAbandoned(BaseException):
    """A part of a run failed, and its result was not recorded; the run can be continued later.

    It is no `Exception`, so that an engine does not record it as the result of the run.
    """

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Engine(Protocol):
    """Runs functions durably: the result of each part is recorded once and survives a crash."""

    def launch(self, run_job: Callable[[str, int, int], None]) -> None:
        """Begin; a thread calls `run_job` with a run, its job and the position of a first step."""

    def start(self, run_id: str, job_id: int, position: int) -> None:
        """Run a job in a thread; a second start with the same id does nothing."""

    def record(self, name: str, part: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Within `run_job`: run a part and record its result, or return the recorded one.

        `RunAbandoned` where the part failed, or its result could not be recorded.
        """

    def forget_worker(self, executor_id: str) -> None:
        """Forget the runs of a process that died; its jobs are started anew."""

    def discard(self, run_ids: Collection[str]) -> tuple[str, ...]:
        """Forget runs that have ended; return those that the engine has not finished yet."""

    def close(self) -> None:
        """Take no more work, and close every connection."""
