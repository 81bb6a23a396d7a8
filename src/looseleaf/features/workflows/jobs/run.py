"""One run of a job: its steps in their order, each recorded once, until the job ends or waits."""

from __future__ import annotations

import re
import signal
from functools import partial

from looseleaf.errors import Locked, LooseleafError, TooBusy, Unavailable
from looseleaf.errors.features import JobLost
from looseleaf.features.workflows.definitions import (
    Flow,
    Pipeline,
    Step,
    restore_flow,
    restore_pipeline,
)
from looseleaf.features.workflows.jobs.job import DIRECT, NewJob, StepRecord
from looseleaf.features.workflows.jobs.queue import CANCEL, PAUSE, JobOutcome
from looseleaf.features.workflows.packet import Packet, parse_packet
from looseleaf.features.workflows.step import StepOutcome, StepRun
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol

    from looseleaf.features.workflows.jobs.job import Job, JobStatus, Source
    from looseleaf.features.workflows.jobs.queue import JobLease, JobQueue, JobState
    from looseleaf.features.workflows.step import StepServices, StepTypes
else:
    Protocol = object


# The plan of a job: pipeline, flow and first packets as they were when the job started.
# The plan is kept with the job as plain JSON, so that later changes of the definitions do not
# matter.


SYSTEM_TASK = "system_task"


@value
class Plan:
    """The work of a job: a pipeline, a flow and the packets for the first step."""

    pipeline: Pipeline
    flow: Flow
    packets: tuple[Packet, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the plan as plain JSON."""
        return {
            "pipeline": self.pipeline.to_json(),
            "flow": self.flow.to_json(),
            "packets": [packet.to_json() for packet in self.packets],
        }


def read_plan(snapshot: Mapping[str, Any]) -> Plan:
    """Read a plan from plain JSON."""
    pipeline, flow = restore_pipeline(snapshot["pipeline"]), restore_flow(snapshot["flow"])
    return Plan(pipeline, flow, tuple(map(parse_packet, snapshot["packets"])))


def plan_flow_job(
    plan: Plan, *, model: str = "", key: str = "", source: Source = "pipeline"
) -> NewJob:
    """Return the job that runs a flow."""
    pipeline, flow = plan.pipeline, plan.flow
    return NewJob(
        label=f"{pipeline.name}: {flow.name}" if flow.name != pipeline.name else flow.name,
        snapshot=plan.to_json(),
        steps=tuple(
            StepRecord(id=step.id, type=step.type, label=step.title) for step in pipeline.steps
        ),
        source=source,
        pipeline_id=pipeline.id,
        flow_id=flow.id,
        agent_id=flow.agent_id or pipeline.agent_id,
        user_id=flow.user_id or pipeline.user_id,
        model=model,
        idempotency_key=key,
    )


def plan_direct_job(
    label: str,
    steps: tuple[Step, ...],
    *,
    agent_id: int = 0,
    user_id: int = 0,
    packets: tuple[Packet, ...] = (),
    source: Source = "direct",
) -> NewJob:
    """Return a job that runs steps without a pipeline of its own."""
    pipeline = Pipeline(
        id=0, slug=DIRECT, name=label, agent_id=agent_id, user_id=user_id, steps=steps
    )
    flow = Flow(id=0, pipeline_id=0, slug=DIRECT, name=label, agent_id=agent_id, user_id=user_id)
    return plan_flow_job(Plan(pipeline, flow, packets), source=source)


def plan_task_job(
    task_type: str,
    params: Mapping[str, Any],
    *,
    label: str,
    agent_id: int = 0,
    user_id: int = 0,
    key: str = "",
    not_before: float = 0.0,
) -> NewJob:
    """Return a job that runs one system task."""
    settings = {"task_type": task_type, "params": dict(params)}
    step = Step("task", SYSTEM_TASK, label, settings)
    job = plan_direct_job(label, (step,), agent_id=agent_id, user_id=user_id, source="system")
    return replace(job, task_type=task_type, idempotency_key=key, not_before=not_before)


# Failures that pass by themselves, and how long a job waits before the next attempt.


MOST_ATTEMPTS = 3
_FIRST_WAIT, _FIRST_TRANSPORT_WAIT, _LONGEST_WAIT = 60.0, 15.0, 3_600.0
_PASSING = re.compile(
    r"timeout|timed out|in time|\b429\b|rate limit|\b50[234]\b|overloaded|temporar|try again"
    r"|throttl|connect|cannot be reached|reset by peer|name resolution",
    re.IGNORECASE,
)
_TRANSPORT = re.compile(
    r"connect|cannot be reached|reset by peer|name resolution|transport", re.IGNORECASE
)
_RETRY_AFTER = re.compile(r"retry[- ]after:? (\d{1,6})", re.IGNORECASE)


def is_transient(error: BaseException) -> bool:
    """Return whether a failure is likely to be gone at a later attempt."""
    if isinstance(error, Locked | TooBusy):
        return True
    return isinstance(error, Unavailable) and has_transient_reason(str(error))


def has_transient_reason(reason: str) -> bool:
    """Return whether the reason of a failure is one that passes by itself."""
    return _PASSING.search(reason) is not None


def compute_wait_seconds(reason: str, attempts: int) -> float | None:
    """Return the seconds until the next attempt, or None after the last one.

    `attempts` is the number of attempts before the one that failed now.
    """
    if attempts + 1 >= MOST_ATTEMPTS:
        return None
    first = _FIRST_TRANSPORT_WAIT if _TRANSPORT.search(reason) else _FIRST_WAIT
    server_wait = _RETRY_AFTER.search(reason)
    wait = max(first * 2.0**attempts, float(server_wait[1]) if server_wait else 0.0)
    return float(min(wait, _LONGEST_WAIT))


def describe_error(error: BaseException) -> str:
    """Return the reason of a failure in one line; an unexpected error is named by its class."""
    text = str(error).partition("\n")[0].strip()
    if isinstance(error, LooseleafError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


STOP = "stop"  # the worker ends; the job is left to another one
_ENDS: dict[str, JobStatus] = {
    "failed": "failed",
    "no_items": "completed_no_items",
    "skipped": "agent_skipped",
    CANCEL: "cancelled",
    PAUSE: "paused",
    STOP: "pending",
}


class StepFault(Exception):
    """An error of a step that is no error of ours, without the secrets of its text."""


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
        run_apart: Runs the rest of a job in a process of its own until that ends, or is told to
            stop by the function; returns the exit code as `subprocess` has it.
        mask: Masks secrets in a text that people read.
        clock: Gives the time.
        report: Tells the operator about a fault of ours.
    """

    queue: JobQueue
    step_types: StepTypes
    open_parts: Callable[[Job], StepServices]
    observer: JobObserver
    run_apart: Callable[[JobLease, Callable[[], bool]], int]
    mask: Callable[[str], str]
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

    def run(self) -> JobOutcome:
        """Run the steps that have no outcome, and return the state to leave the job in."""
        try:
            self._plan = read_plan(self._state.snapshot)
        except Exception as error:  # noqa: BLE001 - no later attempt could read it
            self._parts.report(f"The plan of job {self._job.id} cannot be read", error)
            return JobOutcome("failed", f"its plan cannot be read: {self._describe(error)}")
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
        # Whatever a step does, its job comes to an end: also if it calls sys.exit.
        except BaseException as error:  # noqa: BLE001
            if stop_actions:
                return JobOutcome(_ENDS[stop_actions[-1]])
            reason = self._describe(error)
            if not isinstance(error, LooseleafError):
                label = f"The step {step.id} of job {self._job.id} failed"
                self._parts.report(label, StepFault(reason))
            return self._retry(reason) if is_transient(error) else _build_failure(reason)
        if stop_actions:
            return JobOutcome(_ENDS[stop_actions[-1]])
        outcome = replace(outcome, reason=self._parts.mask(outcome.reason))
        if outcome.status == "failed" and has_transient_reason(outcome.reason):
            return self._retry(outcome.reason)
        return outcome

    def _describe(self, error: BaseException) -> str:
        """Describe an error without the secrets that its text may have."""
        return self._parts.mask(describe_error(error))

    def _report_progress(self, step_id: str, text: str) -> None:
        self._parts.queue.report_progress(self._lease, step_id, self._parts.mask(text))

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
            report_progress=partial(self._report_progress, step.id),
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


# Steps that end the process that runs them, by a signal, a segmentation fault or `os._exit`. The
# first time a whole worker dies. From then on the job runs in a process of its own.


MOST_INTERRUPTIONS = 5
CANNOT_RUN = 75  # the exit code of such a process if the database or the workspace failed


def fail_interrupted(
    parts: JobParts, lease: JobLease, state: JobState, exit_code: int | None
) -> JobOutcome:
    """Record that a step failed by ending its process too often, and return the job's outcome."""
    step = state.job.steps[state.position]
    last = f", the last time by {describe_exit(exit_code)}" if exit_code is not None else ""
    reason = f"the step ended the process that ran it {step.interruptions} times{last}"
    parts.queue.end_step(lease, step.id, _build_failure(reason))
    return JobOutcome("failed", reason)


def describe_exit(exit_code: int) -> str:
    """Describe how a process ended: by the name of a signal, or with a code."""
    if exit_code >= 0:
        return f"exit code {exit_code}"
    try:
        return signal.Signals(-exit_code).name
    except ValueError:
        return f"signal {-exit_code}"
