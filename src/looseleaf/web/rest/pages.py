"""The routes of a single page: read, replace and delete, byte for byte."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from starlette.datastructures import QueryParams
from starlette.responses import Response

from looseleaf.catalog import dispatch
from looseleaf.catalog.json_values import to_json_value
from looseleaf.catalog.resolution import find_operation, scope_of
from looseleaf.errors import LooseleafError
from looseleaf.errors.pages import NotText, PageMissing
from looseleaf.files.folders import MOMENT_SECONDS
from looseleaf.memory.scope import DEFAULT_WHERE, PAGE_SUFFIXES
from looseleaf.memory.store import Found, hash_content
from looseleaf.web.health import ROUTE
from looseleaf.web.http.bodies import media_type_of, parse_body, parse_content
from looseleaf.web.http.guard import HEADERS_BY_NAME
from looseleaf.web.http.responses import JSON, RequestError, encode_json, format_etag, has_version
from looseleaf.web.rest.calls import (
    authenticator_of,
    budget_of,
    combine,
    from_query,
    invoke,
    read_call,
    workers_of,
)
from looseleaf.web.rest.endpoints import NAMESPACE
from looseleaf.web.rest.plugin_answers import Call, add_error_fields, build_route_answer
from looseleaf.web.rest.representation import encode_page, represent_page, with_old_names

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Scope

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import Operation
    from looseleaf.memory.pages import PageText
    from looseleaf.memory.scope import Scope as PageScope
    from looseleaf.web.http.authentication import Authenticator
    from looseleaf.web.http.guard import FastAnswer


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
                request, await workers_of(request).read(context.principal.user_id, work)
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
    raw = await read_call(request, context, operation)
    parse = partial(parse_content, raw, kind)
    content, body_fields = await parse_body(parse, len(raw), budget_of(request))
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


# The fast path of the most frequent request: reading a page by token.


READ_PAGE = "datamachine/get-agent-memory"
PREFIX = f"{NAMESPACE}/files/agent/"
TEMPLATE = f"{PREFIX}{{file:page}}"
# How long the right of a token to read a page is cached, while this process changes no account; the
# page itself is read every time.
DECISION_SECONDS = MOMENT_SECONDS
_MAX_DECISIONS = 4096
_MAX_QUERY = 256  # a longer query is left to the application, so that decisions stay small
# The arguments that select a page; a query with another one asks for a part or a past version.
_SELECTORS = frozenset(("file", "where"))
# A request with one of these headers needs more than the page as it is.
_SPECIAL_HEADERS = frozenset((b"if-match", b"x-looseleaf-reason"))
_NONE_MATCH = b"if-none-match"
_RAW = {
    b"text/markdown": b"text/markdown; charset=utf-8",
    b"text/plain": b"text/plain; charset=utf-8",
}
_JSON = b"application/json"
_AS_JSON = (None, b"*/*", _JSON)
_VARY = (b"vary", b"accept")


class FastPageReads:
    """Answers plain allowed reads; the application answers everything else, refusals too."""

    def __init__(self, authenticator: Authenticator) -> None:
        self.authenticator = authenticator
        self._pages = authenticator.workspace.pages
        self._accounts = authenticator.workspace.accounts()
        self._decisions: dict[tuple[bytes, str, bytes], tuple[float, int, PageScope]] = {}

    def answer(self, scope: Scope) -> FastAnswer | None:
        """Return status, headers and body of the answer, or None if the application must answer."""
        page_response = self._read_plain_page(scope)
        if page_response is None:
            return None
        kind, version, body = page_response
        headers = [(b"etag", b'"%s"' % version.encode()), _VARY]
        if body is not None:
            size = (b"content-length", b"%d" % len(body))
            headers = [(b"content-type", kind), size, *headers]
        scope[ROUTE] = TEMPLATE
        return (304, headers, b"") if body is None else (200, headers, body)

    def _read_plain_page(self, scope: Scope) -> tuple[bytes, str, bytes | None] | None:
        """Read the type, version and body of a page; no body if the client has this version."""
        path = scope["path"]
        if not path.startswith(PREFIX) or scope["method"] != "GET":
            return None
        headers: dict[bytes, bytes] = scope[HEADERS_BY_NAME]
        accept = headers.get(b"accept")
        kind = _RAW.get(accept or b"")
        is_plain = kind is not None or accept in _AS_JSON
        if (
            not is_plain
            or not _SPECIAL_HEADERS.isdisjoint(headers)
            or not path.endswith(PAGE_SUFFIXES)
        ):
            return None
        try:
            page_scope = self._find_allowed_page(
                headers.get(b"authorization", b""), path, scope["query_string"]
            )
            page = self._pages.read(page_scope) if page_scope is not None else None
            if page_scope is None or not isinstance(page, Found):
                return None
            none_match = headers.get(_NONE_MATCH)
            if none_match is not None:
                if len(headers) != len(scope["headers"]):
                    return None  # a header in several lines, which the application joins
                if has_version(none_match.decode("latin-1"), page.hash):
                    return kind or _JSON, page.hash, None
            body = page.content if kind is not None else encode_page(page_scope, page)
        except (LooseleafError, RequestError):
            return None  # the application reports the error
        return kind or _JSON, page.hash, body

    def _find_allowed_page(self, authorization: bytes, path: str, query: bytes) -> PageScope | None:
        """Find the page, if the token may read it, or None if the application must decide."""
        now, key = time.monotonic(), (authorization, path, query)
        decision = self._decisions.get(key)
        # Nothing that this process has revoked is given; another process may revoke meanwhile.
        count = self._accounts.write_count
        if decision is not None and now < decision[0] and count == decision[1]:
            return decision[2]
        context = self.authenticator.by_token(authorization) if len(query) <= _MAX_QUERY else None
        if context is None:
            return None
        operation = find_operation(context, READ_PAGE)
        arguments: dict[str, Any] = {"file": path[len(PREFIX) :]}
        if query:
            parameters = from_query(operation, QueryParams(query).multi_items())
            arguments = dispatch.parse_call(context, operation, combine(arguments, parameters))
            if not _SELECTORS.issuperset(arguments):
                return None
        dispatch.run_parsed(context, operation, arguments)
        if len(self._decisions) >= _MAX_DECISIONS:
            self._decisions.clear()
        page_scope = scope_of(context, arguments["file"], arguments.get("where", DEFAULT_WHERE))
        self._decisions[key] = (now + DECISION_SECONDS, count, page_scope)
        return page_scope
