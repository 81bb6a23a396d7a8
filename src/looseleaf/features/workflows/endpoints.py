"""The endpoints of workflows: steps of pipelines, events of jobs, webhooks, uploads; and a log."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

from starlette.responses import StreamingResponse

from looseleaf.catalog import dispatch
from looseleaf.catalog.json_values import to_json_value
from looseleaf.catalog.resolution import find_operation
from looseleaf.catalog.tool_access import require_operation
from looseleaf.errors import Forbidden, LooseleafError, Unavailable
from looseleaf.errors.features import JobMissing
from looseleaf.errors.operations import Unauthenticated
from looseleaf.features.workflows.documents import translate_plugin_steps
from looseleaf.features.workflows.jobs.job import FINAL
from looseleaf.features.workflows.operations.files import find_folder, receive_file
from looseleaf.features.workflows.parts import jobs_of
from looseleaf.features.workflows.steps.webhook_gate import MOST_GATE_BYTES, digest_secret
from looseleaf.memory.provenance import AGENT
from looseleaf.values import value
from looseleaf.web.http import request_log
from looseleaf.web.http.authentication import address_of
from looseleaf.web.http.bodies import media_type_of, parse_object
from looseleaf.web.http.connection import STOPPING
from looseleaf.web.http.responses import (
    RequestError,
    answer,
    answer_error,
    encode_json,
    refuse_precondition,
)
from looseleaf.web.http.workers import streams_of
from looseleaf.web.rest.calls import (
    authenticator_of,
    budget_of,
    combine,
    from_query,
    invoke,
    read_bytes,
    read_object,
    respond,
    workers_of,
)
from looseleaf.web.rest.plugin_answers import add_error_fields
from looseleaf.web.uploads import FORM, read_form

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from starlette.requests import Request
    from starlette.responses import Response

    from looseleaf.catalog.context import Context
    from looseleaf.features.workflows.jobs.worker import JobEvent
    from looseleaf.features.workflows.operations.files import WorkflowFile
    from looseleaf.plugins.endpoints import Endpoint


# Pipelines whose steps are written as the original plugin writes them.


async def change_pipeline(request: Request, endpoint: Endpoint) -> Response:
    """Create or change a pipeline; its steps may have the form of the original plugin."""
    return await respond(request, endpoint, translate=_translate_steps)


def _translate_steps(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "steps": translate_plugin_steps(body["steps"])} if "steps" in body else body


# A job or a list of jobs: as one answer, or as server-sent events for each change.


SHOW_JOB, LIST_JOBS = "datamachine/get-job", "datamachine/get-jobs"
EVENTS = "text/event-stream"
MOST_SECONDS = 3_600.0  # then the reader connects again
_ALIVE_SECONDS = 15.0
_ALIVE = b": still there\n\n"


@value
class Subject:
    """The subject of a stream: an operation, the name of its event, and its polling interval."""

    operation: str
    event: bytes
    poll_seconds: float


JOB = Subject(SHOW_JOB, b"job", 0.5)
JOBS = Subject(LIST_JOBS, b"jobs", 1.0)


async def show_job(request: Request, endpoint: Endpoint) -> Response:
    """Answer with a job, or with an event for each of its changes until it ends."""
    return await _answer(request, endpoint, JOB)


async def list_jobs(request: Request, endpoint: Endpoint) -> Response:
    """Answer with a list of jobs, or with an event for each change of the list."""
    return await _answer(request, endpoint, JOBS)


async def _answer(request: Request, endpoint: Endpoint, subject: Subject) -> Response:
    if EVENTS not in request.headers.get("accept", ""):
        return await respond(request, endpoint)
    context = authenticator_of(request).context(request)
    document = await _read(request, context, subject)  # an error comes before the stream begins
    streams_of(request).take(context.principal.user_id)
    stream = _stream(request, context, subject, document)
    return StreamingResponse(stream, media_type=EVENTS, headers={"cache-control": "no-store"})


async def _read(request: Request, context: Context, subject: Subject) -> dict[str, Any]:
    operation = find_operation(context, subject.operation)
    arguments = combine(
        from_query(operation, list(request.path_params.items())),
        from_query(operation, request.query_params.multi_items()),
    )
    document: dict[str, Any] = await invoke(request, context, operation, arguments)
    return document


async def _stream(
    request: Request, context: Context, subject: Subject, document: dict[str, Any]
) -> AsyncIterator[bytes]:
    """Send the document whenever it has changed; a credential that is revoked ends the stream."""
    last_document: dict[str, Any] = {}
    end, next_alive = time.monotonic() + MOST_SECONDS, time.monotonic() + _ALIVE_SECONDS
    try:
        while True:
            if document != last_document:
                last_document, next_alive = document, time.monotonic() + _ALIVE_SECONDS
                yield b"event: %s\ndata: %s\n\n" % (subject.event, encode_json(document))
            if document.get("status") in FINAL or time.monotonic() > end:
                yield b"event: end\ndata: {}\n\n"
                return
            if time.monotonic() > next_alive:
                next_alive = time.monotonic() + _ALIVE_SECONDS
                yield _ALIVE
            await asyncio.sleep(subject.poll_seconds)
            if request.scope.get(STOPPING):
                return  # the reader connects again when the server is back
            if not _is_current(context):
                raise Unauthenticated("The credential of this stream was revoked")
            document = await _read(request, context, subject)
    except LooseleafError as error:
        yield b"event: error\ndata: %s\n\n" % bytes(answer_error(request, error).body)
    finally:
        streams_of(request).leave(context.principal.user_id)


def _is_current(context: Context) -> bool:
    try:
        return context.is_current()
    except Unavailable:
        return True  # the next read asks the database again


# Inbound calls to the one-time addresses of jobs that wait; the secret is the credential.


_MOST_DIGITS = 9


async def receive_call(request: Request, _endpoint: Endpoint) -> Response:
    """Wake the job that waits at an address, once; the body becomes a packet.

    The secret is compared before the body is read, by a query that locks nothing: a flood of calls
    without the secret costs little more than reading their headers.
    """
    refuse_precondition(request, "Waking a job")
    job, step, secret = (request.path_params[name] for name in ("job", "step", "secret"))
    if not (job.isascii() and job.isdecimal() and len(job) <= _MOST_DIGITS):
        raise JobMissing(0)
    workspace = authenticator_of(request).workspace
    workspace.root_folder.check_available_cached()
    jobs = jobs_of(workspace).jobs
    gate = digest_secret(secret)
    check = partial(jobs.has_gate, int(job), step, gate)
    if not await workers_of(request).read(address_of(request), check):
        raise JobMissing(int(job))  # as for a job that does not exist
    kind = media_type_of(request)
    raw = await read_bytes(request, MOST_GATE_BYTES)
    body = await parse_object(raw, kind, budget_of(request))
    wake = partial(jobs.signal, int(job), step, body, gate=gate)
    status = (await workers_of(request).write(address_of(request), wake)).status
    return answer({"job_id": int(job), "status": status})


# Uploaded files of pipelines and flows over REST: one file of a form, or base64 in JSON.


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
    require_operation(context, operation, {})
    query = from_query(operation, request.query_params.multi_items())
    if not request.headers.get("content-type", "").lower().startswith(FORM):
        body = await read_object(request, context, operation)
        arguments = combine(query, body)
        with add_error_fields(operation.name, arguments):
            return answer({"files": [await invoke(request, context, operation, arguments)]})
    dispatch.require_possible(context, operation)
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


# The line of the log for each event of a job: numbers and states, and no text of anybody.
# Names of jobs and reasons of failures may contain text of pages and addresses with secrets, so
# they stand in the job alone, which only some people may read.


_MOST_WORKER = 80  # characters of the id of a worker


def log_event(event: JobEvent) -> None:
    """Write the line of an event."""
    if not request_log.is_enabled():
        return
    entry = describe_event(event)
    details = " ".join(f"{name}={entry[name]}" for name in list(entry)[2:])
    request_log.write_line(entry, f"job {event.job_id} {event.name} {details}")


def describe_event(event: JobEvent) -> dict[str, object]:
    """Return the fields of an event as the log has them."""
    entry: dict[str, object] = {"job": event.job_id, "event": event.name}
    job = event.job
    if job is None:
        return {**entry, "dead_worker": event.detail[:_MOST_WORKER]}
    entry |= {"status": job.status, "source": job.source, "agent": job.agent_id}
    entry |= {"flow": job.flow_id, "user": job.user_id}
    if event.is_apart:
        entry["own_process"] = True
    if event.name == "interrupted":
        entry["by"] = event.detail
    if event.name in ("left", "ended", "failed"):
        entry["seconds"] = round(job.seconds, 3)
    return entry
