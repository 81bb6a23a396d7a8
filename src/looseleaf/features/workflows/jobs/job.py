"""Jobs: durable runs of flows and tasks, as users see them."""

from __future__ import annotations

from looseleaf.models.model import Usage
from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    JobStatus = Literal[
        "pending",
        "processing",
        "waiting",
        "paused",
        "completed",
        "completed_no_items",
        "agent_skipped",
        "failed",
        "cancelled",
    ]
    StepStatus = Literal[
        "pending", "processing", "completed", "no_items", "waiting", "skipped", "failed"
    ]
    Source = Literal["pipeline", "system", "direct", "chat"]

# Statuses of a job, as Data Machine names them; `paused` is ours.
ACTIVE: tuple[JobStatus, ...] = ("pending", "processing", "waiting", "paused")
SUCCESSES: tuple[JobStatus, ...] = ("completed", "completed_no_items", "agent_skipped")
FINAL: tuple[JobStatus, ...] = (*SUCCESSES, "failed", "cancelled")
STATUSES: tuple[JobStatus, ...] = (*ACTIVE, *FINAL)
DIRECT = "direct"  # the pipeline and the flow of a job that has none
_LONGEST_LABEL = 255


@value
class MemoryWrite:
    """A page that a step changed, by the revision that the change made.

    Fields:
        layer: The layer of the page.
        user_id: The user whose page it is; 0 in other layers.
        agent_id: The agent whose page it is; 0 in other layers.
        filename: The page.
        revision: The number of the revision.
        operation: The act, such as `append`.
    """

    layer: str
    user_id: int
    agent_id: int
    filename: str
    revision: int
    operation: str = ""


@value(kw_only=True)
class StepRecord:
    """One step of a job, with its present status.

    Fields:
        id: The id of the step in its pipeline.
        type: The type of the step.
        label: The name of the step for people.
        status: How far the step is.
        reason: Why it failed, waits or was skipped.
        started_at: The time of the first attempt; 0 before.
        ended_at: The time of its end; 0 before.
        attempts: How often the step was begun.
        interruptions: How often the process that ran the step died.
        progress: What the step reported last.
        usage: The tokens it used.
        writes: The pages it changed.
        artifacts: References of artifacts it left.
        packets: The number of packets it gave.
    """

    id: str
    type: str
    label: str = ""
    status: StepStatus = "pending"
    reason: str = ""
    started_at: float = 0.0
    ended_at: float = 0.0
    attempts: int = 0
    interruptions: int = 0
    progress: str = ""
    usage: Usage = Usage()
    writes: tuple[MemoryWrite, ...] = ()
    artifacts: tuple[str, ...] = ()
    packets: int = 0

    @property
    def seconds(self) -> float:
        """The time from the first attempt to the end; 0 before the end."""
        return max(self.ended_at - self.started_at, 0.0) if self.ended_at else 0.0


@value(kw_only=True)
class Job:
    """One durable run.

    Fields:
        id: The number of the job.
        label: The name of the job for people.
        source: The kind of start: pipeline, system, direct or chat.
        pipeline_id: The pipeline; 0 for a direct job.
        flow_id: The flow; 0 for a direct job.
        agent_id: The agent the job acts as, or 0 if none.
        user_id: The user the job acts for, or 0 if none.
        task_type: The system task of a direct job.
        parent_id: The job that started this one, or 0 if none.
        status: How far the job is.
        reason: Why it failed, waits, was skipped or cancelled.
        created_at: The time of the request.
        started_at: The time of the first step; 0 before.
        completed_at: The time of the end; 0 before.
        not_before: The time before which no worker takes the job; 0 for now.
        attempts: How often a worker took the job after a failure that passes by itself.
        model: The model that counts for the limit of jobs per model, or "" if none.
        idempotency_key: A key that only one job can have, or "" if none.
        usage: The tokens of all steps.
        steps: The steps in their order; empty in a list of jobs.
        writes: The pages that the steps changed, in their order.
    """

    id: int
    label: str
    source: Source = "pipeline"
    pipeline_id: int = 0
    flow_id: int = 0
    agent_id: int = 0
    user_id: int = 0
    task_type: str = ""
    parent_id: int = 0
    status: JobStatus = "pending"
    reason: str = ""
    created_at: float = 0.0
    started_at: float = 0.0
    completed_at: float = 0.0
    not_before: float = 0.0
    attempts: int = 0
    model: str = ""
    idempotency_key: str = ""
    usage: Usage = Usage()
    steps: tuple[StepRecord, ...] = ()
    writes: tuple[MemoryWrite, ...] = ()

    @property
    def is_final(self) -> bool:
        """Whether the job has ended."""
        return self.status in FINAL

    @property
    def status_text(self) -> str:
        """The status and its reason in one text, as Data Machine stores them."""
        return f"{self.status} - {self.reason}" if self.reason else self.status

    @property
    def seconds(self) -> float:
        """The time from the first step to the end, as far as both are known."""
        return (
            max(self.completed_at - self.started_at, 0.0)
            if self.completed_at and self.started_at
            else 0.0
        )


@value(kw_only=True)
class NewJob:
    """A job to be started, with the configuration that it runs by from then on.

    Fields:
        label: The name of the job for people; only its first 255 characters are stored.
        snapshot: The configuration of pipeline and flow as plain JSON, and the first packets.
        steps: The steps in their order, each as it is before it runs.
    """

    label: str
    snapshot: Mapping[str, Any] = FrozenDict()
    steps: tuple[StepRecord, ...] = ()
    source: Source = "pipeline"
    pipeline_id: int = 0
    flow_id: int = 0
    agent_id: int = 0
    user_id: int = 0
    task_type: str = ""
    parent_id: int = 0
    not_before: float = 0.0
    model: str = ""
    idempotency_key: str = ""

    @property
    def short_label(self) -> str:
        """The label as it is stored."""
        return self.label[:_LONGEST_LABEL]


def parse_status(text: str) -> tuple[str, str]:
    """Read a status and its reason from one text, `failed - why` or `failed: why`."""
    for status in sorted(STATUSES, key=len, reverse=True):
        rest = text.removeprefix(status)
        if rest != text or text == status:
            for separator in (" - ", ": ", " -", ":"):
                if rest.startswith(separator):
                    return status, rest.removeprefix(separator).strip()
            if not rest:
                return status, ""
    return text, ""
