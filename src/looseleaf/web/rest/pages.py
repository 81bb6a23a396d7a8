"""The routes of a single page: read, replace and delete, byte for byte."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from starlette.responses import Response

from looseleaf.catalog import dispatch
from looseleaf.catalog.resolution import find_operation
from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.errors.pages import NotText, PageMissing
from looseleaf.memory.store import hash_content
from looseleaf.web.http.bodies import media_type_of, parse_page
from looseleaf.web.http.preconditions import format_etag
from looseleaf.web.http.request_errors import RequestError
from looseleaf.web.http.responses import JSON, encode_json
from looseleaf.web.rest.arguments import combine, from_query
from looseleaf.web.rest.calls import authenticator_of, body_of, invoke, workers_of
from looseleaf.web.rest.plugin_answers import Call, build_route_answer
from looseleaf.web.rest.plugin_errors import add_error_fields
from looseleaf.web.rest.representation import represent_page, with_old_names

if TYPE_CHECKING:
    from starlette.requests import Request

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import Operation
    from looseleaf.memory.page_text import PageText

READ, WRITE, DELETE = (
    "datamachine/get-agent-memory",
    "datamachine/write-agent-file",
    "datamachine/delete-agent-file",
)
FILE = (
    "datamachine/get-agent-file"  # the operation whose errors the original plugin gives for a page
)
APPEND_ELSEWHERE = (
    "mode was ignored: this address replaces the day. POST /files/agent/daily/append adds to it."
)
READ_DAY, WRITE_DAY, DELETE_DAY = (
    "datamachine/daily-memory-read",
    "datamachine/daily-memory-write",
    "datamachine/daily-memory-delete",
)


async def read_page(request: Request) -> Response:
    """Return a page, read without a thread, since a thread costs more than the read."""
    context = authenticator_of(request).context(request)
    operation = find_operation(context, READ)
    path_arguments = {"file": request.path_params["file"]}
    with add_error_fields(FILE, path_arguments):
        if not request.scope["query_string"]:
            # Most requests: a page of the caller, without a query.
            return _respond_with_page(
                request, dispatch.run_parsed(context, operation, path_arguments)
            )
        query = from_query(operation, request.query_params.multi_items())
        arguments = combine(request.path_params, query)
        if "as_of" in arguments:
            work = partial(dispatch.run_operation, context, operation, arguments)
            return _respond_with_page(
                request, await workers_of(request).read(context.principal.credential, work)
            )
        return _respond_with_page(request, dispatch.run_operation(context, operation, arguments))


def _respond_with_page(request: Request, result: object) -> Response:
    page = cast("PageText", result)
    return represent_page(request, page.page.hash, lambda: page.raw, lambda: _build_document(page))


def _build_document(page: PageText) -> dict[str, Any]:
    try:
        return with_old_names(to_json_value(page))
    except NotText as error:
        message = f"{error} JSON cannot hold it; ask for it with Accept: text/plain."
        raise RequestError(406, error.code, message) from None


async def write_page(request: Request) -> Response:
    """Replace or create a page by the raw body, or by `content` of a JSON body."""
    context = authenticator_of(request).context(request)
    return await _write(request, context, find_operation(context, WRITE), dict(request.path_params))


async def delete_page(request: Request) -> Response:
    """Delete a page that is not a core page."""
    context = authenticator_of(request).context(request)
    return await _delete(
        request, context, find_operation(context, DELETE), dict(request.path_params)
    )


async def read_day(request: Request) -> Response:
    """Return one day of the journal."""
    context = authenticator_of(request).context(request)
    operation = find_operation(context, READ_DAY)
    arguments = combine(
        _date_of(request), from_query(operation, request.query_params.multi_items())
    )
    with add_error_fields(READ_DAY, arguments):
        day = await invoke(request, context, operation, arguments)
        if not day["exists"]:
            raise PageMissing(day["file"])
    content = day["content"].encode()
    version = day["hash"] or hash_content(content)
    document = {**day, "hash": version, "bytes": len(content)}
    return represent_page(request, version, lambda: content, lambda: with_old_names(document))


async def write_day(request: Request) -> Response:
    """Replace one day of the journal, whatever `mode` says: appending has its own address."""
    context = authenticator_of(request).context(request)
    operation = find_operation(context, WRITE_DAY)
    return await _write(request, context, operation, {**_date_of(request), "mode": "write"})


async def delete_day(request: Request) -> Response:
    """Delete one day of the journal."""
    context = authenticator_of(request).context(request)
    return await _delete(request, context, find_operation(context, DELETE_DAY), _date_of(request))


async def _write(
    request: Request, context: Context, operation: Operation, path_arguments: dict[str, Any]
) -> Response:
    kind = media_type_of(request)
    content, body_fields = await parse_page(await body_of(request, operation), kind)
    query_arguments = from_query(operation, request.query_params.multi_items())
    modes = (
        {query_arguments.pop("mode", "write"), body_fields.pop("mode", "write")}
        if "mode" in path_arguments
        else set()
    )
    arguments = combine(path_arguments, query_arguments, body_fields, {"content": content})
    with add_error_fields(operation.name, arguments):
        result = await invoke(request, context, operation, arguments)
    if modes - {"write"}:
        result["warnings"] = [*result["warnings"], APPEND_ELSEWHERE]
    document = build_route_answer(operation.name, Call(context, arguments, result))
    return Response(encode_json(document), 200, {"etag": format_etag(result["hash"])}, JSON)


async def _delete(
    request: Request, context: Context, operation: Operation, path_arguments: dict[str, Any]
) -> Response:
    query_arguments = from_query(operation, request.query_params.multi_items())
    arguments = combine(path_arguments, query_arguments)
    with add_error_fields(operation.name, arguments):
        result = await invoke(request, context, operation, arguments)
    document = build_route_answer(operation.name, Call(context, arguments, result))
    return Response(encode_json(document), 200, None, JSON)


def _date_of(request: Request) -> dict[str, str]:
    parts = request.path_params
    return {"date": f"{parts['year']}-{parts['month']}-{parts['day']}"}
