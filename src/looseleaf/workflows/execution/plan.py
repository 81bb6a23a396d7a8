"""The plan of a job: pipeline, flow and first packets as they were when the job started.

The plan is kept with the job as plain JSON, so that later changes of the definitions do not matter.
"""

from __future__ import annotations

from looseleaf.values import replace, value
from looseleaf.workflows.flow import Flow, restore_flow
from looseleaf.workflows.job import DIRECT, NewJob, StepRecord
from looseleaf.workflows.packet import Packet, parse_packet
from looseleaf.workflows.pipeline import Pipeline, Step, restore_pipeline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.workflows.job import Source

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
