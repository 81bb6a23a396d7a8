"""The types of steps that every workspace has, registered as a plugin registers its own."""

from __future__ import annotations

from looseleaf.features.workflows.steps.ai import AI
from looseleaf.features.workflows.steps.input import INPUT
from looseleaf.features.workflows.steps.memory_update import MEMORY_UPDATE
from looseleaf.features.workflows.steps.publish import PUBLISH
from looseleaf.features.workflows.steps.system_task import SYSTEM_TASK
from looseleaf.features.workflows.steps.webhook_gate import WEBHOOK_GATE
from looseleaf.memory.registry import OWNER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.features.workflows.step import StepTypes

CORE_STEPS = (INPUT, AI, MEMORY_UPDATE, PUBLISH, WEBHOOK_GATE, SYSTEM_TASK)


def register_core_steps(steps: StepTypes) -> None:
    """Register the types of steps that every workspace has."""
    for step_type in CORE_STEPS:
        steps.register(step_type, owner=OWNER)
