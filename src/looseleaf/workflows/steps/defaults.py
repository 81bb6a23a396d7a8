"""The types of steps that every workspace has, registered as a plugin registers its own."""

from __future__ import annotations

from looseleaf.memory.registry import OWNER
from looseleaf.workflows.steps.ai import AI
from looseleaf.workflows.steps.input import INPUT
from looseleaf.workflows.steps.memory_update import MEMORY_UPDATE
from looseleaf.workflows.steps.publish import PUBLISH
from looseleaf.workflows.steps.system_task import SYSTEM_TASK
from looseleaf.workflows.steps.webhook_gate import WEBHOOK_GATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.workflows.step import StepTypes

CORE_STEPS = (INPUT, AI, MEMORY_UPDATE, PUBLISH, WEBHOOK_GATE, SYSTEM_TASK)


def register_core_steps(steps: StepTypes) -> None:
    """Register the types of steps that every workspace has."""
    for step_type in CORE_STEPS:
        steps.register(step_type, owner=OWNER)
