"""The step `system_task`: a system task runs as part of a job."""

from __future__ import annotations

from looseleaf.features.workflows.packet import create_packet
from looseleaf.features.workflows.step import StepOutcome, StepType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.features.workflows.step import StepRun


def run_system_task(run: StepRun) -> StepOutcome:
    """Run the task for the job's agent, and return its result as a packet."""
    task_type = run.settings["task_type"]
    run.report_progress(f"runs {task_type}")
    result = run.parts.run_task(run, task_type, run.settings.get("params", {}))
    failures = [entry for entry in result.get("runs", ()) if entry.get("is_failure")]
    if failures:
        reason = failures[0].get("reason") or failures[0].get("status", "")
        return StepOutcome(status="failed", reason=f"{task_type} failed: {reason}")
    data = {"task_type": task_type, "result": run.parts.mask.mask(result)}
    return StepOutcome(packets=(create_packet("task_result", data, now=run.parts.clock()),))


SYSTEM_TASK = StepType(
    name="system_task",
    label="System task",
    description="Run a system task for the job's agent, such as the compaction of its memory.",
    run=run_system_task,
    gives=("task_result",),
    has_effect=True,
    settings={
        "type": "object",
        "required": ["task_type"],
        "additionalProperties": False,
        "properties": {
            "task_type": {
                "type": "string",
                "minLength": 1,
                "maxLength": 100,
                "format": "system-task",
                "title": "Task",
                "description": "The system task that runs.",
            },
            "params": {
                "type": "object",
                "title": "Parameters",
                "description": "Each on a line of its own, such as date = 2026-04-17.",
            },
        },
    },
)
