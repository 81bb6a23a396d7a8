"""One run of a job: its steps in their order, each recorded once, until the job ends or waits."""

from __future__ import annotations

from functools import partial

from looseleaf.errors import LooseleafError
from looseleaf.errors.workflows import JobLost
from looseleaf.values import replace, value
from looseleaf.workflows.execution.plan import read_plan
from looseleaf.workflows.execution.queue import CANCEL, PAUSE, JobOutcome
from looseleaf.workflows.execution.retries import (
    compute_wait_seconds,
    describe_error,
    has_transient_reason,
    is_transient,
)
from looseleaf.workflows.step import StepOutcome
from looseleaf.workflows.step_run import StepRun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from looseleaf.workflows.execution.queue import JobLease, JobQueue
    from looseleaf.workflows.job import Job, JobStatus, StepRecord
    from looseleaf.workflows.job_list import JobState
    from looseleaf.workflows.packet import Packet
    from looseleaf.workflows.step import StepTypes
    from looseleaf.workflows.step_run import StepServices
else:
    Protocol = object

STOP = "stop"  # the worker ends; the job is left to another one
_ENDS: dict[str, JobStatus] = {
    "failed": "failed",
    "no_items": "completed_no_items",
    "skipped": "agent_skipped",
    CANCEL: "cancelled",
    PAUSE: "paused",
    STOP: "pending",
}


class JobObserver(Protocol):
    """Is told about the progress of jobs; each call may be repeated after a crash."""

    def step_ended(self, state: JobState, step_id: str) -> None:
        """Handle a step whose outcome is recorded."""

    def job_ended(self, job: Job) -> None:
        """Handle a job that has ended."""


@value(kw_only=True)
class JobParts:
    """The parts that runs of jobs need.

    Fields:
        queue: The queue that jobs are taken from, which records the outcomes of steps.
        step_types: The types of steps.
        open_parts: Gives the parts that steps of a job may use.
        observer: Is told about steps and jobs that ended.
        clock: Gives the time.
        report: Tells the operator about a fault of ours.
    """

    queue: JobQueue
    step_types: StepTypes
    open_parts: Callable[[Job], StepServices]
    observer: JobObserver
    clock: Callable[[], float]
    report: Callable[[str, Exception], None]


class JobRun:
    """A job while this worker runs it; `find_action` returns what people or the worker request."""

    def __init__(
        self, parts: JobParts, lease: JobLease, state: JobState, find_action: Callable[[], str]
    ) -> None:
        self._parts, self._lease, self._find_action = parts, lease, find_action
        self._job, self._signals = state.job, state.signals
        self._state = state
        self._outcomes = dict(state.outcomes)
        self._plan = read_plan(state.snapshot)

    def run(self) -> JobOutcome:
        """Run the steps that have no outcome, and return the state to leave the job in."""
        for step in self._job.steps[self._state.position :]:
            action = self._find_action()
            if action:
                return JobOutcome(_ENDS[action])
            job_outcome = self._run_step(step)
            if job_outcome is not None:
                return job_outcome
        return JobOutcome("completed")

    def _run_step(self, step: StepRecord) -> JobOutcome | None:
        """Run a step and record its outcome; return None if the next step is to run."""
        attempt = self._parts.queue.begin_step(self._lease, step.id)
        result = self._attempt(step, attempt)
        if isinstance(result, JobOutcome):
            return result
        outcome = self._parts.queue.end_step(self._lease, step.id, result)
        if outcome.status == "waiting":
            wait = outcome.wait_seconds
            return JobOutcome(
                "waiting", outcome.reason, self._parts.clock() + wait if wait else 0.0
            )
        self._outcomes[step.id] = outcome
        state = replace(self._state, outcomes=dict(self._outcomes))
        self._parts.observer.step_ended(state, step.id)
        if outcome.status == "completed":
            return None
        return JobOutcome(_ENDS[outcome.status], outcome.reason)

    def _attempt(self, step: StepRecord, attempt: int) -> StepOutcome | JobOutcome:
        """Run the function of a step; with a `JobOutcome` as result, nothing is recorded."""
        stop_actions: list[str] = []

        def is_cancelled() -> bool:
            action = self._find_action()
            if action in {CANCEL, STOP}:
                stop_actions.append(action)
            return bool(stop_actions)

        try:
            outcome = self._call(step, attempt, is_cancelled)
        except JobLost:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a step does, its job comes to an end
            if stop_actions:
                return JobOutcome(_ENDS[stop_actions[-1]])
            if not isinstance(error, LooseleafError):
                self._parts.report(f"The step {step.id} of job {self._job.id} failed", error)
            reason = describe_error(error)
            return self._retry(reason) if is_transient(error) else _build_failure(reason)
        if stop_actions:
            return JobOutcome(_ENDS[stop_actions[-1]])
        if outcome.status == "failed" and has_transient_reason(outcome.reason):
            return self._retry(outcome.reason)
        return outcome

    def _call(
        self, step: StepRecord, attempt: int, is_cancelled: Callable[[], bool]
    ) -> StepOutcome:
        step_type = self._parts.step_types.get(step.type)
        plan, definition = self._plan, self._plan.pipeline.step(step.id)
        if definition is None:
            raise KeyError(step.id)
        run = StepRun(
            job=self._job,
            pipeline=plan.pipeline,
            flow=plan.flow,
            step=definition,
            settings=plan.flow.settings_of(definition),
            packets=self._list_packets(step),
            parts=self._parts.open_parts(self._job),
            is_cancelled=is_cancelled,
            report_progress=partial(self._parts.queue.report_progress, self._lease, step.id),
            attempt=attempt,
            signal=self._signals.get(step.id),
        )
        outcome = step_type.run(run)
        for packet in outcome.packets:
            self._parts.step_types.packets.check(packet)
        return outcome

    def _list_packets(self, step: StepRecord) -> tuple[Packet, ...]:
        """Return the packets of the steps before, newest first, and those of the start."""
        packets = list(self._plan.packets)
        for earlier in self._job.steps:
            if earlier.id == step.id:
                break
            outcome = self._outcomes.get(earlier.id)
            packets[:0] = outcome.packets if outcome else ()
        return tuple(packets)

    def _retry(self, reason: str) -> StepOutcome | JobOutcome:
        seconds = compute_wait_seconds(reason, self._job.attempts)
        if seconds is None:
            return _build_failure(reason)
        return JobOutcome("pending", reason, self._parts.clock() + seconds, is_retry=True)


def _build_failure(reason: str) -> StepOutcome:
    return StepOutcome(status="failed", reason=reason)
