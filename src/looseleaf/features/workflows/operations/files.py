"""Uploaded files: the reference material of a pipeline, and the input of a flow."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.json_values import decode_data
from looseleaf.errors import InvalidArgument
from looseleaf.errors.features import FlowMissing
from looseleaf.features.workflows.access import find_flow, find_pipeline
from looseleaf.features.workflows.definitions import parse_flow_step
from looseleaf.features.workflows.parts import definitions_of, resources_of
from looseleaf.features.workflows.uploads import FileFolder, limits_of
from looseleaf.times import format_time
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from looseleaf.catalog.context import Context
    from looseleaf.features.workflows.uploads import StoredFile


@value
class WorkflowFile:
    """An uploaded file; `path` is seen from the root of the workspace."""

    filename: str
    path: str
    size: int
    modified: str


@value
class WorkflowFileRemoved:
    """An uploaded file that is gone for good."""

    filename: str
    path: str
    message: str


@operation("datamachine/list-flow-files", permission="read", categories=("flows",), read_only=True)
def list_workflow_files(
    context: Context,
    *,
    flow_step_id: str = "",
    flow: str | int | None = None,
    pipeline: str | int | None = None,
) -> list[WorkflowFile]:
    """List the uploaded files of a flow, or the context files of a pipeline, by name.

    Arguments:
        flow_step_id: A step of the flow whose files are meant, such as input_7.
        flow: The flow whose files are meant, by id, slug, or pipeline/slug.
        pipeline: The pipeline whose context files are meant, by id, slug, or agent/slug.
    """
    folder = find_folder(context, flow_step_id, flow, pipeline)
    return [_describe(folder, file) for file in resources_of(context.parts).uploads.list(folder)]


@operation("datamachine/upload-flow-file", permission="flows", categories=("flows",))
def upload_workflow_file(
    context: Context,
    file: str,
    data: str,
    *,
    flow_step_id: str = "",
    flow: str | int | None = None,
    pipeline: str | int | None = None,
) -> WorkflowFile:
    """Upload a file for a flow, or a context file of a pipeline; the same name is replaced.

    Arguments:
        file: The name of the file, such as notes.txt; its ending must be an allowed type.
        data: The bytes of the file in base64.
        flow_step_id: A step of the flow that gets the file, such as input_7.
        flow: The flow that gets the file, by id, slug, or pipeline/slug.
        pipeline: The pipeline that gets it as a context file, by id, slug, or agent/slug.
    """
    content = decode_data(data)
    return receive_file(
        context, find_folder(context, flow_step_id, flow, pipeline), file, (content,)
    )


@operation(
    "datamachine/delete-flow-file", permission="flows", categories=("flows",), destructive=True
)
def delete_workflow_file(
    context: Context,
    file: str,
    *,
    flow_step_id: str = "",
    flow: str | int | None = None,
    pipeline: str | int | None = None,
) -> WorkflowFileRemoved:
    """Delete an uploaded file of a flow, or a context file of a pipeline, for good.

    Arguments:
        file: The name of the file.
        flow_step_id: A step of the flow that has the file, such as input_7.
        flow: The flow that has the file, by id, slug, or pipeline/slug.
        pipeline: The pipeline that has it as a context file, by id, slug, or agent/slug.
    """
    folder = find_folder(context, flow_step_id, flow, pipeline)
    resources_of(context.parts).uploads.delete(folder, file)
    return WorkflowFileRemoved(file, f"{folder.path}/{file}", f"{file} deleted.")


def receive_file(
    context: Context, folder: FileFolder, name: str, parts: Iterable[bytes]
) -> WorkflowFile:
    """Store an upload part by part within the limits of the settings."""
    files = resources_of(context.parts).uploads
    return _describe(folder, files.put(folder, name, parts, limits_of(context.settings)))


def find_folder(
    context: Context,
    flow_step_id: str,
    flow: str | int | None,
    pipeline: str | int | None,
) -> FileFolder:
    """Find the folder of uploads that is meant, if its agent is allowed: exactly one is named."""
    selectors = [bool(flow_step_id), flow is not None, pipeline is not None]
    if sum(selectors) != 1:
        raise InvalidArgument("flow_step_id", "name one of flow_step_id, flow and pipeline")
    if pipeline is not None:
        return FileFolder(find_pipeline(context, pipeline).id)
    if flow is not None:
        record = find_flow(context, flow)
        return FileFolder(record.pipeline_id, record.id)
    step = parse_flow_step(flow_step_id)
    if step is None:
        raise FlowMissing(flow_step_id)
    record = find_flow(context, step[1])
    parent = definitions_of(context.parts).pipelines.find(record.pipeline_id)
    if parent is None or parent.step(step[0]) is None:
        raise FlowMissing(flow_step_id)
    return FileFolder(record.pipeline_id, record.id)


def _describe(folder: FileFolder, file: StoredFile) -> WorkflowFile:
    path = f"{folder.path}/{file.name}"
    return WorkflowFile(file.name, path, file.size, format_time(file.modified))
