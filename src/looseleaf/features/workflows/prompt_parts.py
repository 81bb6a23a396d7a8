"""The parts of a prompt from a pipeline and a flow: task, list of steps, memory, files."""

from __future__ import annotations

from looseleaf.catalog.resolution import agent_of
from looseleaf.errors import InvalidArgument
from looseleaf.errors.features import InvalidWorkflow
from looseleaf.features.workflows.access import find_flow, find_pipeline, narrow_tools
from looseleaf.features.workflows.parts import resources_of
from looseleaf.features.workflows.uploads import FileFolder, media_type_of
from looseleaf.prompt import request
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.prompt_assembly import Workflow
    from looseleaf.features.workflows.definitions import Flow, Pipeline, Step
    from looseleaf.features.workflows.uploads import StoredFile, WorkflowFiles
    from looseleaf.memory.scope import Where
    from looseleaf.prompt.request import ContextFile


MOST_TEXT_BYTES = 262_144  # a larger file is named in a prompt, and not given
AI = "ai"  # the type of the steps that are given prompts


def build_pipeline_part(
    pipeline: Pipeline, step_id: str = "", context_files: tuple[ContextFile, ...] = ()
) -> request.PipelinePart:
    """Build the part of a pipeline; the prompt is for a step, by default the first AI step."""
    return request.PipelinePart(
        id=pipeline.id,
        name=pipeline.name,
        system_prompt=pipeline.system_prompt,
        memory_files=pipeline.memory_files,
        context_files=context_files,
        steps=tuple(f"{step.title} ({step.type})" for step in pipeline.steps),
        step=find_position(pipeline, step_id),
    )


def read_context_files(files: WorkflowFiles, pipeline_id: int) -> tuple[ContextFile, ...]:
    """Read the context files of a pipeline for a prompt; those that are no text are only named."""
    folder = FileFolder(pipeline_id)
    return tuple(
        request.ContextFile(
            file.name,
            f"{folder.path}/{file.name}",
            media_type_of(file.name),
            _read_text(files, folder, file),
            file.size,
        )
        for file in files.list(folder)
    )


def _read_text(files: WorkflowFiles, folder: FileFolder, file: StoredFile) -> str | None:
    if file.size > MOST_TEXT_BYTES:
        return None
    content = b"".join(files.read(folder, file.name))
    if b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def build_flow_part(flow: Flow) -> request.FlowPart:
    """Build the part of a flow."""
    return request.FlowPart(flow.id, flow.name, flow.memory_files)


def find_position(pipeline: Pipeline, step_id: str) -> int | None:
    """Find the position of the step that the prompt is for, or None if there is no AI step."""
    if step_id:
        position = pipeline.position(step_id)
        if position is None:
            ids = ", ".join(step.id for step in pipeline.steps) or "none"
            reason = f"it has no step {step_id!r}; its steps are: {ids}"
            raise InvalidWorkflow(f"pipeline {pipeline.slug}", reason)
        return position
    return next((n for n, step in enumerate(pipeline.steps) if step.type == AI), None)


# The memory and tools that a pipeline and a flow select, as fields of a request for a prompt.


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
