"""The memory and tools that a pipeline and a flow select, as fields of a request for a prompt."""

from __future__ import annotations

from looseleaf.catalog.resolution import agent_of
from looseleaf.catalog.workflows.workflow_access import find_flow, find_pipeline
from looseleaf.catalog.workflows.workflow_tools import narrow_tools
from looseleaf.errors import InvalidArgument
from looseleaf.values import replace
from looseleaf.workflows.parts import resources_of
from looseleaf.workflows.prompt_parts import (
    build_flow_part,
    build_pipeline_part,
    read_context_files,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.prompt_assembly import Workflow
    from looseleaf.memory.scope import Where
    from looseleaf.workflows.flow import Flow
    from looseleaf.workflows.pipeline import Step


def build_workflow_fields(
    context: Context, where: Where, workflow: Workflow, *, with_tools: bool
) -> tuple[Where, dict[str, Any]]:
    """Find a workflow; return its agent, and the fields that it adds to a request.

    Only the explanation of a prompt needs the fields that narrow tools (`with_tools`).
    """
    flow = find_flow(context, workflow.flow) if workflow.flow is not None else None
    if workflow.pipeline is not None and workflow.pipeline != "":
        pipeline = find_pipeline(context, workflow.pipeline)
    else:
        pipeline = find_pipeline(context, flow.pipeline_id if flow is not None else 0)
    if flow is not None and flow.pipeline_id != pipeline.id:
        raise InvalidArgument("flow", f"it is no flow of the pipeline {pipeline.slug}")
    if where.agent is not None and agent_of(context, where.agent).id != pipeline.agent_id:
        raise InvalidArgument("agent", f"the pipeline {pipeline.slug} belongs to another agent")
    context_files = read_context_files(resources_of(context.parts).uploads, pipeline.id)
    part = build_pipeline_part(pipeline, workflow.step, context_files)
    fields: dict[str, Any] = {"pipeline": part}
    if flow is not None:
        fields["flow"] = build_flow_part(flow)
    if with_tools:
        step = None if part.step is None else pipeline.steps[part.step]
        fields |= narrow_tools(context.parts.operations(), pipeline, _settings_of(step, flow))
    return replace(where, agent=pipeline.agent_id), fields


def _settings_of(step: Step | None, flow: Flow | None) -> Mapping[str, Any]:
    """Return the settings that the step of a prompt runs with, empty without a step."""
    if step is None:
        return {}
    return step.settings if flow is None else flow.settings_of(step)
