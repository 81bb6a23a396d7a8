"""One page at its own address: read, replace, delete, byte for byte."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from starlette.responses import Response

from looseleaf.errors import NotText, PageMissing
from looseleaf.memory.store import content_hash
from looseleaf.operations import run
from looseleaf.operations.schema import plain
from looseleaf.web.answers import JSON, encoded
from looseleaf.web.arguments import combined, from_query
from looseleaf.web.bodies import media_type, parse_page
from looseleaf.web.calls import body_of, invoke, reception_of, workers_of
from looseleaf.web.plugin_answers import Call, route_answer
from looseleaf.web.plugin_errors import plugin_errors
from looseleaf.web.preconditions import etag
from looseleaf.web.problems import Problem
from looseleaf.web.representation import represented, with_old_names

if TYPE_CHECKING:
    from starlette.requests import Request

    from looseleaf.operations.catalog import Operation
    from looseleaf.operations.context import Context
    from looseleaf.operations.memory import PageText

READ, WRITE, DELETE = (
    "datamachine/get-agent-memory",
    "datamachine/write-agent-file",
    "datamachine/delete-agent-file",
)
FILE = "datamachine/get-agent-file"  # whose errors the original plugin gives for a page
APPEND_ELSEWHERE = (
    "mode was ignored: this address replaces the day. POST /files/agent/daily/append adds to it."
)
READ_DAY, WRITE_DAY, DELETE_DAY = (
    "datamachine/daily-memory-read",
    "datamachine/daily-memory-write",
    "datamachine/daily-memory-delete",
)


async def read_page(request: Request) -> Response:
    """Give a page; from memory or with one small read, so no thread is worth its price."""
    context = reception_of(request).context(request)
    operation = run.find(context, READ)
    named = {"file": request.path_params["file"]}
    with plugin_errors(FILE, named):
        if not request.scope["query_string"]:
            # Most requests: a page of one's own, with nothing to read from an address.
            return _page(request, run.act(context, operation, named))
        query = from_query(operation, request.query_params.multi_items())
        given = combined(request.path_params, query)
        if "as_of" in given:
            work = partial(run.perform, context, READ, given)
            return _page(
                request, await workers_of(request).read(context.principal.credential, work)
            )
        return _page(request, run.perform(context, READ, given))


def _page(request: Request, found: object) -> Response:
    page = cast("PageText", found)
    return represented(request, page.page.hash, lambda: page.raw, lambda: _document(page))


def _document(page: PageText) -> dict[str, Any]:
    try:
        return with_old_names(plain(page))
    except NotText as error:
        message = f"{error} JSON cannot hold it; ask for it with Accept: text/plain."
        raise Problem(406, error.code, message) from None


async def write_page(request: Request) -> Response:
    """Replace or create a page by the raw body, or by `content` of a JSON body."""
    context = reception_of(request).context(request)
    return await _write(request, context, run.find(context, WRITE), dict(request.path_params))


async def delete_page(request: Request) -> Response:
    """Delete a page that is not a core page."""
    context = reception_of(request).context(request)
    return await _delete(request, context, run.find(context, DELETE), dict(request.path_params))


async def read_day(request: Request) -> Response:
    """Give one day of the journal."""
    context = reception_of(request).context(request)
    operation = run.find(context, READ_DAY)
    given = combined(_date(request), from_query(operation, request.query_params.multi_items()))
    with plugin_errors(READ_DAY, given):
        day = await invoke(request, context, operation, given)
        if not day["exists"]:
            raise PageMissing(day["file"])
    content = day["content"].encode()
    version = day["hash"] or content_hash(content)
    document = {**day, "hash": version, "bytes": len(content)}
    return represented(request, version, lambda: content, lambda: with_old_names(document))


async def write_day(request: Request) -> Response:
    """Replace one day of the journal, whatever `mode` says: appending has its own address."""
    context = reception_of(request).context(request)
    operation = run.find(context, WRITE_DAY)
    return await _write(request, context, operation, {**_date(request), "mode": "write"})


async def delete_day(request: Request) -> Response:
    """Delete one day of the journal."""
    context = reception_of(request).context(request)
    return await _delete(request, context, run.find(context, DELETE_DAY), _date(request))


async def _write(
    request: Request, context: Context, operation: Operation, named: dict[str, Any]
) -> Response:
    kind = media_type(request)
    content, more = await parse_page(await body_of(request, operation), kind)
    told = from_query(operation, request.query_params.multi_items())
    modes = {told.pop("mode", "write"), more.pop("mode", "write")} if "mode" in named else set()
    given = combined(named, told, more, {"content": content})
    with plugin_errors(operation.name, given):
        saved = await invoke(request, context, operation, given)
    if modes - {"write"}:
        saved["warnings"] = [*saved["warnings"], APPEND_ELSEWHERE]
    document = route_answer(operation.name, Call(context, given, saved))
    return Response(encoded(document), 200, {"etag": etag(saved["hash"])}, JSON)


async def _delete(
    request: Request, context: Context, operation: Operation, named: dict[str, Any]
) -> Response:
    told = from_query(operation, request.query_params.multi_items())
    given = combined(named, told)
    with plugin_errors(operation.name, given):
        deleted = await invoke(request, context, operation, given)
    document = route_answer(operation.name, Call(context, given, deleted))
    return Response(encoded(document), 200, None, JSON)


def _date(request: Request) -> dict[str, str]:
    parts = request.path_params
    return {"date": f"{parts['year']}-{parts['month']}-{parts['day']}"}
