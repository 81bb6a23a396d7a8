"""Abilities: every operation by its own name, with its schema and a way to run it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from looseleaf.catalog.resolution import find_operation
from looseleaf.catalog.schemas import build_result_schema
from looseleaf.catalog.tool_access import offers_operation, require_operation
from looseleaf.web.http.bodies import as_object
from looseleaf.web.http.responses import JSON, RequestError, answer, encode_json
from looseleaf.web.rest.answer_schemas import build_run_schema
from looseleaf.web.rest.calls import (
    authenticator_of,
    build_accepted_schema,
    combine,
    from_query,
    invoke,
    read_months_beside,
    read_object,
    split_paging,
)
from looseleaf.web.rest.plugin_answers import Call, add_error_fields, build_flat_answer

if TYPE_CHECKING:
    from starlette.requests import Request

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import Operation
    from looseleaf.web.rest.calls import Window

ABILITIES = "/wp-abilities/v1/abilities"
OPERATIONS = "/looseleaf/v1/operations"


async def list_abilities(request: Request) -> Response:
    """List every operation with its schemas, as WordPress lists abilities."""
    descriptions, window = _list_offered(request)
    return window.bare_answer(descriptions)


async def show_ability(request: Request) -> Response:
    """Describe one operation, as WordPress describes an ability."""
    return Response(encode_json(_describe_one(request)), 200, None, JSON)


async def run_ability(request: Request) -> Response:
    """Run an operation and answer in the plugin's shape; GET is allowed for reading."""
    context = authenticator_of(request).context(request)
    operation = find_operation(context, request.path_params["name"])
    arguments = await _read_arguments(context, operation, request)
    with add_error_fields(operation.name, arguments):
        require_operation(context, operation, arguments)
        result = await invoke(request, context, operation, arguments)
        months = await read_months_beside(request, context, operation, arguments)
        document = build_flat_answer(operation.name, Call(context, arguments, result, months))
    return answer(result) if document is None else Response(encode_json(document), 200, None, JSON)


async def list_operations(request: Request) -> Response:
    """List every operation with its schemas, in our own envelope."""
    descriptions, window = _list_offered(request)
    return window.answer(descriptions)


async def show_operation(request: Request) -> Response:
    """Describe one operation, in our own envelope."""
    return answer(_describe_one(request))


async def run_operation(request: Request) -> Response:
    """Run an operation and return its whole result, in our own envelope."""
    context = authenticator_of(request).context(request)
    operation = find_operation(context, request.path_params["name"])
    arguments = await _read_arguments(context, operation, request)
    require_operation(context, operation, arguments)
    return answer(await invoke(request, context, operation, arguments))


def _list_offered(request: Request) -> tuple[list[dict[str, Any]], Window]:
    context = authenticator_of(request).context(request)
    query, window = split_paging(request)
    if query:
        raise RequestError(400, "invalid_argument", f"There is no argument {query[0][0]}.")
    operations = [
        operation for operation in operations_of(context) if offers_operation(context, operation)
    ]
    return [describe(operation) for operation in operations], window


def _describe_one(request: Request) -> dict[str, Any]:
    context = authenticator_of(request).context(request)
    return describe(find_operation(context, request.path_params["name"]))


async def _read_arguments(
    context: Context, operation: Operation, request: Request
) -> dict[str, Any]:
    if request.method in ("GET", "HEAD"):
        if not operation.read_only:
            message = f"{operation.name} changes something: use POST."
            raise RequestError(405, "method_not_allowed", message, headers={"allow": "POST"})
        return _parse_query(operation, request)
    fields = _unwrap_input(await read_object(request, context, operation))
    return combine(fields, from_query(operation, request.query_params.multi_items()))


def _parse_query(operation: Operation, request: Request) -> dict[str, Any]:
    query = request.query_params.multi_items()
    inputs = [text for name, text in query if name == "input"]
    parameters = [(_unwrap_name(name), text) for name, text in query if name != "input"]
    fields = as_object(inputs[0].encode("utf-8", "surrogatepass")) if inputs else {}
    return combine(fields, from_query(operation, parameters))


def _unwrap_name(name: str) -> str:
    """Read `input[section]`, as WordPress writes arguments into an address, as `section`."""
    inner = name.removeprefix("input[")
    return inner.replace("]", "", 1) if inner != name else name


def _unwrap_input(body: dict[str, Any]) -> dict[str, Any]:
    """Read the arguments from `input`, if WordPress has them, or from the body itself."""
    if set(body) != {"input"}:
        return body
    arguments = body["input"]
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        raise RequestError(400, "invalid_json", "input must be a JSON object.")
    return arguments


def describe(operation: Operation) -> dict[str, Any]:
    """Describe an operation as WordPress describes an ability."""
    return {
        "name": operation.name,
        "label": _format_label(operation.name),
        "description": operation.summary,
        "category": operation.categories[0],
        "input_schema": build_accepted_schema(operation),
        "output_schema": build_run_schema(operation),
        "meta": {
            "permission": operation.permission,
            "result_schema": build_result_schema(operation),
            "categories": list(operation.categories),
            "show_in_rest": True,
            "annotations": {
                "readonly": operation.read_only,
                "destructive": operation.destructive,
                "idempotent": operation.idempotent,
            },
        },
    }


def _format_label(name: str) -> str:
    """Format a name as a label: `datamachine/get-agent-memory` is "Get agent memory"."""
    return name.rpartition("/")[2].replace("-", " ").replace("_", " ").capitalize()


def operations_of(context: Context) -> tuple[Operation, ...]:
    """Return every operation of a workspace, by name."""
    return context.parts.operations().all()
