"""Uploaded files of pipelines and flows over REST: one file of a form, or base64 in JSON."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

from looseleaf.catalog import dispatch
from looseleaf.catalog.resolution import find_operation
from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.errors import Forbidden
from looseleaf.memory.provenance import AGENT
from looseleaf.operations.workflow_files import find_folder, receive_file
from looseleaf.web.http.bodies import media_type_of, parse_object
from looseleaf.web.http.request_errors import RequestError
from looseleaf.web.http.responses import answer
from looseleaf.web.rest.arguments import combine, from_query
from looseleaf.web.rest.calls import authenticator_of, body_of, invoke, workers_of
from looseleaf.web.rest.plugin_errors import add_error_fields
from looseleaf.web.uploads import FORM, read_form

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request
    from starlette.responses import Response

    from looseleaf.catalog.context import Context
    from looseleaf.operations.workflow_files import WorkflowFile
    from looseleaf.plugins.endpoints import Endpoint

UPLOAD = "datamachine/upload-flow-file"
BODY_TYPES: dict[str, Any] = {
    FORM: {
        "type": "object",
        "required": ["file"],
        "properties": {
            "file": {"type": "string", "format": "binary"},
            "flow_step_id": {"type": "string"},
            "flow_id": {"type": "string"},
            "pipeline_id": {"type": "string"},
        },
    }
}
_PART_BYTES = 1_048_576


async def upload_file(request: Request, endpoint: Endpoint) -> Response:
    """Store the file of a form, or of a JSON body in base64, for a flow or a pipeline."""
    context = authenticator_of(request).context(request)
    operation = find_operation(context, endpoint.operation)
    dispatch.require_precondition_kept(context, operation)
    query = from_query(operation, request.query_params.multi_items())
    if not request.headers.get("content-type", "").lower().startswith(FORM):
        kind = media_type_of(request)
        body = await parse_object(await body_of(request, operation), kind)
        arguments = combine(query, body)
        with add_error_fields(operation.name, arguments):
            return answer({"files": [await invoke(request, context, operation, arguments)]})
    upload, fields = await read_form(request)
    try:
        arguments = combine(query, fields)
        place = {name: arguments.pop(name, None) for name in ("flow", "pipeline")}
        place |= {name: arguments.pop(f"{name}_id", place[name]) for name in ("flow", "pipeline")}
        step = str(arguments.pop("flow_step_id", "") or "")
        name = str(arguments.pop("filename", "") or upload.filename or "")
        if arguments:
            message = (
                f"The form has a field {next(iter(arguments))}, which an upload does not take."
            )
            raise RequestError(400, "invalid_argument", message)
        target = {"file": name, "flow_step_id": step, **place}
        work = partial(store_upload, context, target, upload.file)
        with add_error_fields(operation.name, target):
            file = await workers_of(request).run(context, operation, target, work)
    finally:
        await upload.close()
    return answer({"files": [to_json_value(file)]})


def store_upload(context: Context, target: dict[str, Any], content: BinaryIO) -> WorkflowFile:
    """Store an upload under the permission of the operation, and record it in the audit."""
    operation = find_operation(context, UPLOAD)
    permitted_context = context.with_permission(operation.permission)
    place = (target.get("flow_step_id", ""), target.get("flow"), target.get("pipeline"))
    if permitted_context.principal.actor_kind == AGENT:
        # The rule for an upload as JSON holds for a form, too.
        dispatch.refuse_assembled_text({"content": content.read()})
        content.seek(0)
    try:
        folder = find_folder(permitted_context, *place)
        file = receive_file(permitted_context, folder, target["file"], _read_parts(content))
    except Forbidden as refusal:
        dispatch.record_in_audit(permitted_context, operation, target, refusal)
        raise
    dispatch.record_in_audit(permitted_context, operation, target)
    return file


def _read_parts(content: BinaryIO) -> Iterator[bytes]:
    while part := content.read(_PART_BYTES):
        yield part
