"""The parts of a prompt from a pipeline and a flow: task, list of steps, memory, files."""

from __future__ import annotations

from looseleaf.errors.workflows import InvalidWorkflow
from looseleaf.prompt import request
from looseleaf.workflows.uploads.file_store import FileFolder, media_type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.prompt.request import ContextFile
    from looseleaf.workflows.flow import Flow
    from looseleaf.workflows.pipeline import Pipeline
    from looseleaf.workflows.uploads.file_store import StoredFile, WorkflowFiles

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
