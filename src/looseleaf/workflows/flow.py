"""A flow: one configured and scheduled use of a pipeline, with memory and prompts of its own."""

from __future__ import annotations

from looseleaf.values import FrozenDict, as_dict, replace, value
from looseleaf.workflows.pipeline import hash_definition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from looseleaf.workflows.pipeline import Step

    QueueMode = Literal["static", "drain", "loop"]

MANUAL, ONE_TIME, CRON = "manual", "one_time", "cron"
QUEUE_MODES: tuple[QueueMode, ...] = ("static", "drain", "loop")


@value
class Schedule:
    """When a flow runs: a key of an interval, cron fields, one time, or only when asked."""

    interval: str = MANUAL  # a key of an interval, or manual, one_time, cron
    cron: str = ""  # with interval cron: five fields
    at: float = 0.0  # with interval one_time: seconds since 1970
    enabled: bool = True  # a flow that is paused keeps its schedule


@value
class QueuedPrompt:
    """A prompt that waits in the queue of a flow."""

    prompt: str
    added: float = 0.0


@value(kw_only=True)
class Flow:
    """One use of a pipeline; `step_settings` override those of the step with the same id."""

    id: int  # 0 until it is stored
    pipeline_id: int
    slug: str
    name: str
    agent_id: int
    user_id: int
    memory_files: tuple[str, ...] = ()
    step_settings: Mapping[str, Mapping[str, Any]] = FrozenDict()
    prompt_queue: tuple[QueuedPrompt, ...] = ()
    queue_mode: QueueMode = "static"
    schedule: Schedule = Schedule()
    run_artifacts: Mapping[str, Any] = FrozenDict()  # egress policy
    created: float = 0.0
    updated: float = 0.0

    @property
    def version(self) -> str:
        """The hash of the definition, for compare-and-swap."""
        return hash_definition(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return the flow as plain JSON, as the database and jobs keep it."""
        queue = [as_dict(prompt) for prompt in self.prompt_queue]
        return as_dict(self) | {"prompt_queue": queue, "schedule": as_dict(self.schedule)}

    def settings_of(self, step: Step) -> dict[str, Any]:
        """Return the settings that a step runs with in this flow."""
        return {**step.settings, **self.step_settings.get(step.id, {})}


def pause(flow: Flow) -> Flow:
    """Return a flow whose schedule is paused until a person enables it."""
    return replace(flow, schedule=replace(flow.schedule, enabled=False))


def restore_flow(fields: Mapping[str, Any]) -> Flow:
    """Build a flow from the JSON that `to_json` gave."""
    parts = {
        "memory_files": tuple(fields["memory_files"]),
        "prompt_queue": tuple(QueuedPrompt(**prompt) for prompt in fields["prompt_queue"]),
        "schedule": Schedule(**fields["schedule"]),
    }
    return Flow(**{**fields, **parts})


def format_flow_step(step_id: str, flow_id: int) -> str:
    """Name a step of a flow as Data Machine's REST interface does: `{step id}_{flow id}`."""
    return f"{step_id}_{flow_id}"


def parse_flow_step(name: str) -> tuple[str, int] | None:
    """Parse the name of a step of a flow, or None if the text is no such name."""
    step_id, _, flow_id = name.rpartition("_")
    is_number = flow_id.isascii() and flow_id.isdigit() and len(flow_id) < 10
    return (step_id, int(flow_id)) if step_id and is_number else None
