"""Calls of operations by requests: principal, arguments, paging and response."""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from looseleaf.catalog import dispatch
from looseleaf.catalog.resolution import find_operation
from looseleaf.catalog.schemas import (
    SYNONYMS,
    build_input_schema,
    compute_argument_bytes,
    resolve_synonym,
)
from looseleaf.errors import Refused
from looseleaf.values import value
from looseleaf.web.http.authentication import sender_of
from looseleaf.web.http.bodies import BodyLimits, media_type_of, parse_object, read_body
from looseleaf.web.http.responses import JSON, RequestError, answer, encode_json, format_etag
from looseleaf.web.rest.plugin_answers import (
    ENTRIES,
    MESSAGES,
    add_error_fields,
    build_daily_summary,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.requests import Request

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import Operation
    from looseleaf.plugins.endpoints import Endpoint
    from looseleaf.web.http.authentication import Authenticator
    from looseleaf.web.http.bodies import BodyBudget
    from looseleaf.web.http.workers import ServerThreads

    Translation = Callable[[dict[str, Any]], dict[str, Any]]


_LIST_PAGES, _LIST_DAYS = "datamachine/list-agent-files", "datamachine/daily-memory-list"


# Arguments of operations, from the address, the query and the body of a request.


_WHOLE_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?", re.ASCII)
_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@cache
def kinds_of(operation: Operation) -> dict[str, tuple[frozenset[str], str]]:
    """Return the JSON types of each argument, and the type of its items."""
    return {
        name: _collect_kinds(property_schema)
        for name, property_schema in build_input_schema(operation)["properties"].items()
    }


def _collect_kinds(argument_schema: Mapping[str, Any]) -> tuple[frozenset[str], str]:
    parts = argument_schema.get("anyOf", [argument_schema])
    kinds: set[str] = set()
    items = "string"
    for part in parts:
        kind = part["type"]
        kinds |= {kind} if isinstance(kind, str) else set(kind)
        items = part.get("items", {}).get("type", items)
    return frozenset(kinds), items


@cache
def build_accepted_schema(operation: Operation) -> dict[str, Any]:
    """Return the JSON schema of all accepted arguments, under every name of an argument.

    A required argument may be passed under any of its names.
    """
    operation_schema = build_input_schema(operation)
    properties = dict(operation_schema["properties"])
    names: dict[str, list[str]] = {}
    for synonym in SYNONYMS:
        target = resolve_synonym(synonym, operation_schema["properties"])
        if synonym != target:
            shape = {key: part for key, part in properties[target].items() if key != "default"}
            properties[synonym] = {**shape, "description": f"The same as {target}."}
            names.setdefault(target, [target]).append(synonym)
    required = [name for name in operation_schema["required"] if name not in names]
    alternatives = [
        {"anyOf": [{"required": [name]} for name in names[required_name]]}
        for required_name in operation_schema["required"]
        if required_name in names
    ]
    result = {**operation_schema, "properties": properties, "required": required}
    return {**result, "allOf": alternatives} if alternatives else result


def from_query(operation: Operation, query: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Parse the arguments of a query, each as a type that the operation takes."""
    arguments: dict[str, Any] = {}
    if not query:
        return arguments
    kinds = kinds_of(operation)
    for parameter, text in query:
        name = parameter.removesuffix("[]")
        types, _ = kinds.get(resolve_synonym(name, kinds), (frozenset(), ""))
        if "array" in types:
            arguments.setdefault(name, []).extend(part for part in text.split(",") if part)
        elif name in arguments:
            raise RequestError(400, "invalid_argument", f"The argument {name} is given twice.")
        else:
            arguments[name] = _convert(name, text, types)
    return arguments


def _convert(name: str, text: str, types: frozenset[str]) -> object:
    """Convert the text of an argument; an invalid text is left for the operation to refuse."""
    is_whole = _WHOLE_NUMBER.fullmatch(text) is not None
    if "string" in types:
        # If both types are accepted, an argument that ends in _id is a number; others may be a
        # slug.
        is_id = name.endswith("_id") and "integer" in types
        return int(text) if is_whole and is_id else text
    if "integer" in types and is_whole:
        return int(text)
    if "number" in types and _NUMBER.fullmatch(text):
        return float(text)
    if "boolean" in types and text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    return text


def combine(*sources: Mapping[str, Any]) -> dict[str, Any]:
    """Combine arguments from several sources; a contradiction is refused."""
    arguments: dict[str, Any] = {}
    for source in sources:
        for name, argument in source.items():
            if name in arguments and arguments[name] != argument:
                message = f"The argument {name} is given twice, with different values."
                raise RequestError(400, "invalid_argument", message)
            arguments[name] = argument
    return arguments


# Paging of lists: `page`, `per_page` and the total.


PER_PAGE, MAX_PER_PAGE = 100, 1000
_LAST_PAGE = 10**9
_NAMES = ("page", "per_page")
# The parameters as OpenAPI describes them.
PARAMETERS: list[dict[str, Any]] = [
    {
        "name": "page",
        "in": "query",
        "description": "The number of the part of a list.",
        "schema": {"type": "integer", "minimum": 1, "maximum": _LAST_PAGE, "default": 1},
    },
    {
        "name": "per_page",
        "in": "query",
        "description": "The number of entries in a part.",
        "schema": {"type": "integer", "minimum": 1, "maximum": MAX_PER_PAGE, "default": PER_PAGE},
    },
]


@value
class Window:
    """The requested part of a list."""

    page: int
    per_page: int

    def answer(self, items: list[Any], status: int = 200, **extra_fields: str) -> Response:
        """Build the response with the part and the total."""
        return answer(
            self._select_part(items),
            status,
            self._build_headers(items),
            **extra_fields,
            total=len(items),
            pages=self._count_pages(items),
            page=self.page,
        )

    def bare_answer(self, items: list[Any]) -> Response:
        """Build the response as WordPress does: an array, with the totals as headers."""
        return Response(
            encode_json(self._select_part(items)), 200, self._build_headers(items), JSON
        )

    def _select_part(self, items: list[Any]) -> list[Any]:
        start = (self.page - 1) * self.per_page
        return items[start : start + self.per_page]

    def _count_pages(self, items: list[Any]) -> int:
        return -(-len(items) // self.per_page)

    def _build_headers(self, items: list[Any]) -> dict[str, str]:
        return {"x-wp-total": str(len(items)), "x-wp-totalpages": str(self._count_pages(items))}


def split_paging(request: Request) -> tuple[list[tuple[str, str]], Window]:
    """Split `page` and `per_page` from the other parameters of a query."""
    query = request.query_params.multi_items()
    other_parameters = [(name, text) for name, text in query if name not in _NAMES]
    paging_parameters = {name: text for name, text in query if name in _NAMES}
    page = _parse_number("page", paging_parameters.get("page", "1"), _LAST_PAGE)
    per_page = _parse_number(
        "per_page", paging_parameters.get("per_page", str(PER_PAGE)), MAX_PER_PAGE
    )
    return other_parameters, Window(page, per_page)


def _parse_number(name: str, text: str, maximum: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 12 and 1 <= int(text) <= maximum):
        raise RequestError(
            400, "invalid_argument", f"{name} must be a whole number from 1 to {maximum}."
        )
    return int(text)


def authenticator_of(request: Request) -> Authenticator:
    """Return the authenticator of the server."""
    authenticator: Authenticator = request.app.state.authenticator
    return authenticator


def workers_of(request: Request) -> ServerThreads:
    """Return the worker threads of the server."""
    workers: ServerThreads = request.app.state.workers
    return workers


def budget_of(request: Request) -> BodyBudget:
    """Return the memory budget of the bodies of the server."""
    budget: BodyBudget = request.app.state.body_budget
    return budget


async def read_bytes(request: Request, size: int) -> bytes:
    """Read a body that belongs to no operation, within a limit and those of the settings."""
    settings = authenticator_of(request).workspace.settings
    limits = BodyLimits(
        min(size, settings.max_request_bytes), settings.request_seconds, sender_of(request)
    )
    return await read_body(request, limits, budget_of(request))


async def read_call(request: Request, context: Context, operation: Operation) -> bytes:
    """Read the body of a call, within the limit of its operation.

    A principal who may not run the operation on anything is refused before the body is read.
    """
    dispatch.require_possible(context, operation)
    return await read_bytes(request, compute_argument_bytes(operation, context.settings))


async def read_object(request: Request, context: Context, operation: Operation) -> dict[str, Any]:
    """Read the body of a call that is a JSON object."""
    kind = media_type_of(request)
    raw = await read_call(request, context, operation)
    return await parse_object(raw, kind, budget_of(request))


async def respond(
    request: Request, endpoint: Endpoint, translate: Translation | None = None
) -> Response:
    """Handle a request by the operation of its endpoint; `translate` prepares a JSON body."""
    context = authenticator_of(request).context(request)
    operation = find_operation(context, endpoint.operation)
    query, window = split_paging(request)
    query_arguments = from_query(operation, query)
    body = {}
    if request.method not in ("GET", "HEAD", "DELETE"):
        body = await read_object(request, context, operation)
        body = translate(body) if translate is not None else body
        if endpoint.whole_body:
            body = {endpoint.whole_body: body}
    path_arguments = from_query(operation, list(request.path_params.items()))
    arguments = combine(path_arguments, dict(endpoint.fixed_arguments), query_arguments, body)
    with add_error_fields(operation.name, arguments):
        result = await invoke(request, context, operation, arguments)
    entry = ENTRIES.get(operation.name)
    if isinstance(result, list):
        items = [entry(context, item) for item in result] if entry else result
        months = await read_months_beside(request, context, operation, arguments)
        messages = {"message": MESSAGES[operation.name]} if operation.name in MESSAGES else {}
        return window.answer([*items, *build_daily_summary(months)], endpoint.status, **messages)
    headers = {"etag": format_etag(result["hash"])} if is_versioned(result) else None
    return answer(entry(context, result) if entry else result, endpoint.status, headers)


async def read_months_beside(
    request: Request, context: Context, operation: Operation, arguments: Mapping[str, Any]
) -> dict[str, list[str]]:
    """Return the days that the original sums up at the end of a list of pages, or {}.

    A list of one layer, or one that names each day, is ours alone.
    """
    if operation.name != _LIST_PAGES or {"daily", "layer"} & arguments.keys():
        return {}
    try:
        days = find_operation(context, _LIST_DAYS)
        months: dict[str, list[str]] = await invoke(request, context, days, arguments)
    except Refused:
        return {}  # who may list the pages may yet not read the journal
    return months


def is_versioned(result: object) -> bool:
    """Return whether a result has a version, which later changes may name."""
    return isinstance(result, dict) and isinstance(result.get("hash"), str) and bool(result["hash"])


async def invoke(
    request: Request, context: Context, operation: Operation, arguments: Mapping[str, Any]
) -> Any:  # noqa: ANN401 - the result of any operation
    """Run an operation in a thread of the server."""
    work = partial(dispatch.invoke, context, operation, arguments)
    return await workers_of(request).run(context, operation, arguments, work)
