"""Uploads over REST: one file of a form, streamed to disk within the limits of the settings."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect

from looseleaf.catalog import dispatch
from looseleaf.catalog.resolution import find_operation
from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.errors import Forbidden
from looseleaf.memory.provenance import AGENT
from looseleaf.operations.workflow_files import find_folder, receive_file
from looseleaf.web.http.bodies import media_type_of, parse_object
from looseleaf.web.http.body_budget import build_too_busy
from looseleaf.web.http.request_errors import RequestError, build_too_large
from looseleaf.web.http.responses import answer
from looseleaf.web.rest.arguments import combine, from_query
from looseleaf.web.rest.calls import authenticator_of, body_of, invoke, workers_of
from looseleaf.web.rest.plugin_errors import add_error_fields

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from starlette.requests import Request
    from starlette.responses import Response

    from looseleaf.catalog.context import Context
    from looseleaf.operations.workflow_files import WorkflowFile
    from looseleaf.web.http.body_budget import BodyBudget

UPLOAD = "datamachine/upload-flow-file"
FORM = "multipart/form-data"
OVERHEAD = 65_536  # bytes of a form besides its file: borders, headers and fields
_MOST_FIELDS = 8
_MOST_FIELD_BYTES = 4_096
_PART_BYTES = 1_048_576
_PATIENCE = 10  # how many times longer an upload may take than another body
MOST_UPLOADS = 10  # of the largest size, arriving at once; one sender may have half of them


async def upload_file(request: Request) -> Response:
    """Store the file of a form, or of a JSON body in base64, for a flow or a pipeline."""
    context = authenticator_of(request).context(request)
    operation = find_operation(context, UPLOAD)
    dispatch.require_precondition_kept(context, operation)
    query = from_query(operation, request.query_params.multi_items())
    if not request.headers.get("content-type", "").lower().startswith(FORM):
        kind = media_type_of(request)
        body = await parse_object(await body_of(request, operation), kind)
        arguments = combine(query, body)
        with add_error_fields(UPLOAD, arguments):
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
        with add_error_fields(UPLOAD, target):
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


async def read_form(request: Request) -> tuple[UploadFile, dict[str, str]]:
    """Read a form with one file; large files are stored on disk while they arrive."""
    settings = authenticator_of(request).workspace.settings
    limit = settings.max_upload_bytes + OVERHEAD
    stream = _limit_stream(request, limit)
    parser = MultiPartParser(
        request.headers,
        stream,
        max_files=1,
        max_fields=_MOST_FIELDS,
        max_part_size=_MOST_FIELD_BYTES,
    )
    budget: BodyBudget = request.app.state.upload_budget
    sender, has_room = authenticator_of(request).sender(request), False
    seconds = settings.request_seconds * _PATIENCE
    try:
        async with asyncio.timeout(seconds), budget.reserve(sender, limit):
            has_room = True
            form = await parser.parse()
    except TimeoutError:
        if not has_room:
            raise build_too_busy(seconds) from None
        message = "The upload did not arrive in time."
        raise RequestError(408, "too_slow", message, headers={"connection": "close"}) from None
    except (MultiPartException, KeyError) as error:
        raise RequestError(400, "invalid_form", f"The form cannot be read: {error}.") from None
    except ClientDisconnect:
        raise RequestError(400, "disconnected", "The request ended too early.") from None
    upload = form.get("file")
    if not isinstance(upload, UploadFile):
        await form.close()
        message = 'The form needs a file: curl -F "file=@notes.txt" -F flow_step_id=…'
        raise RequestError(400, "missing_file", message)
    fields = {name: field for name, field in form.multi_items() if isinstance(field, str)}
    return upload, fields


async def _limit_stream(request: Request, limit: int) -> AsyncGenerator[bytes, None]:
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise build_too_large(limit)
        yield part


def _read_parts(content: BinaryIO) -> Iterator[bytes]:
    while part := content.read(_PART_BYTES):
        yield part
