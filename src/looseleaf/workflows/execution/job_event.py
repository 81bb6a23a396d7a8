"""Events of jobs for the log of a worker: a job starts, continues, is taken over, ends or waits."""

from __future__ import annotations

from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from looseleaf.workflows.job import Job

    EventName = Literal["started", "continued", "taken_over", "left", "ended", "failed"]


@value
class JobEvent:
    """An event of a job.

    Fields:
        name: The kind of event; a job that is `left` continues later.
        job_id: The number of the job.
        job: The job, or None if it was taken over, and not yet read.
        detail: The step at which a job continues, or the worker that died.
    """

    name: EventName
    job_id: int
    job: Job | None = None
    detail: str = ""

    def describe(self) -> str:
        """Describe the event for people, with the name of the job and the reason of a failure."""
        job = self.job
        if job is None:
            return f"Job {self.job_id}: taken over, since worker {self.detail} died."
        if self.name == "started":
            return f"Job {job.id} ({job.label}) begins."
        if self.name == "continued":
            place = f"at {self.detail}" if self.detail else "after its last step"
            return f"Job {job.id} ({job.label}) continues {place}."
        return f"Job {job.id}: {job.status_text} ({job.seconds:.1f} s)."


def build_start_event(job: Job, position: int) -> JobEvent:
    """Return the event of a job whose run begins at the step of a position."""
    if position >= len(job.steps):
        return JobEvent("continued", job.id, job)
    step = job.steps[position]
    if not position and not step.attempts:
        return JobEvent("started", job.id, job)
    return JobEvent("continued", job.id, job, step.label or step.type)


def build_end_event(job: Job) -> JobEvent:
    """Return the event of a job that a worker releases: it has ended, or continues later."""
    if not job.is_final:
        return JobEvent("left", job.id, job)
    return JobEvent("failed" if job.status == "failed" else "ended", job.id, job)
