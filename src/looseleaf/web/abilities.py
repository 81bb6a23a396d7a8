"""Abilities: every operation by its own name, with its schema and a way to run it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from looseleaf.operations import run
from looseleaf.operations.catalog import CATALOG
from looseleaf.operations.tool_access import offers_operation, require_operation
from looseleaf.web.answers import JSON, answer, encoded
from looseleaf.web.arguments import accepted_schema, combined, from_query
from looseleaf.web.bodies import as_object, media_type, parse_object
from looseleaf.web.calls import body_of, invoke, reception_of
from looseleaf.web.listing import paged
from looseleaf.web.plugin_answers import SHAPES, Call, flat_answer
from looseleaf.web.plugin_errors import plugin_errors
from looseleaf.web.problems import Problem
from looseleaf.web.statuses import ENVELOPE

if TYPE_CHECKING:
    from starlette.requests import Request

    from looseleaf.operations.catalog import Operation
    from looseleaf.operations.context import Context
    from looseleaf.web.listing import Window

ABILITIES = "/wp-abilities/v1/abilities"
OPERATIONS = "/looseleaf/v1/operations"


async def list_abilities(request: Request) -> Response:
    """List every operation with its schemas, as WordPress lists abilities."""
    descriptions, window = _offered(request)
    return window.bare_answer(descriptions)


async def show_ability(request: Request) -> Response:
    """Describe one operation, as WordPress describes an ability."""
    return Response(encoded(_one_offered(request)), 200, None, JSON)


async def run_ability(request: Request) -> Response:
    """Run an operation and answer in the plugin's shape; by GET, too, where it only reads."""
    context = reception_of(request).context(request)
    operation = run.find(context, request.path_params["name"])
    given = await _arguments(operation, request)
    with plugin_errors(operation.name, given):
        require_operation(context, operation, given)
        result = await invoke(request, context, operation, given)
        document = flat_answer(operation.name, Call(context, given, result))
    return answer(result) if document is None else Response(encoded(document), 200, None, JSON)


async def list_operations(request: Request) -> Response:
    """List every operation with its schemas, in our own envelope."""
    descriptions, window = _offered(request)
    return window.answer(descriptions)


async def show_operation(request: Request) -> Response:
    """Describe one operation, in our own envelope."""
    return answer(_one_offered(request))


async def run_operation(request: Request) -> Response:
    """Run an operation and give its whole result, in our own envelope."""
    context = reception_of(request).context(request)
    operation = run.find(context, request.path_params["name"])
    given = await _arguments(operation, request)
    require_operation(context, operation, given)
    return answer(await invoke(request, context, operation, given))


def _offered(request: Request) -> tuple[list[dict[str, Any]], Window]:
    context = reception_of(request).context(request)
    rest, window = paged(request)
    if rest:
        raise Problem(400, "invalid_argument", f"There is no argument {rest[0][0]}.")
    offered = [one for one in all_operations(context) if offers_operation(context, one)]
    return [described(one) for one in offered], window


def _one_offered(request: Request) -> dict[str, Any]:
    context = reception_of(request).context(request)
    return described(run.find(context, request.path_params["name"]))


async def _arguments(operation: Operation, request: Request) -> dict[str, Any]:
    if request.method in ("GET", "HEAD"):
        if not operation.read_only:
            message = f"{operation.name} changes something: use POST."
            raise Problem(405, "method_not_allowed", message, headers={"allow": "POST"})
        return _asked(operation, request)
    media_type(request)
    given = _input(await parse_object(await body_of(request, operation)))
    return combined(given, from_query(operation, request.query_params.multi_items()))


def _asked(operation: Operation, request: Request) -> dict[str, Any]:
    query = request.query_params.multi_items()
    told = [text for name, text in query if name == "input"]
    plain = [(_unwrapped(name), text) for name, text in query if name != "input"]
    given = as_object(told[0].encode("utf-8", "surrogatepass")) if told else {}
    return combined(given, from_query(operation, plain))


def _unwrapped(name: str) -> str:
    """Read `input[section]`, as WordPress writes arguments into an address, as `section`."""
    inner = name.removeprefix("input[")
    return inner.replace("]", "", 1) if inner != name else name


def _input(body: dict[str, Any]) -> dict[str, Any]:
    """Take the arguments from `input`, where WordPress has them, or from the body itself."""
    if set(body) != {"input"}:
        return body
    given = body["input"]
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise Problem(400, "invalid_json", "input must be a JSON object.")
    return given


def described(operation: Operation) -> dict[str, Any]:
    """Say of an operation what WordPress says of an ability."""
    return {
        "name": operation.name,
        "label": _label(operation.name),
        "description": operation.summary,
        "category": operation.categories[0],
        "input_schema": accepted_schema(operation),
        "output_schema": output_schema(operation),
        "meta": {
            "permission": operation.permission,
            "categories": list(operation.categories),
            "show_in_rest": True,
            "annotations": {
                "readonly": operation.read_only,
                "destructive": operation.destructive,
                "idempotent": operation.idempotent,
            },
        },
    }


def output_schema(operation: Operation) -> dict[str, Any]:
    """Give the JSON schema of what the run route answers."""
    shape = SHAPES.get(operation.name)
    return shape.schema if shape else ENVELOPE


def _label(name: str) -> str:
    """Make a label of a name: `datamachine/get-agent-memory` is "Get agent memory"."""
    return name.rpartition("/")[2].replace("-", " ").replace("_", " ").capitalize()


def all_operations(context: Context) -> tuple[Operation, ...]:
    """Give every operation of a workspace, by name."""
    if context.operations is not None:
        return context.operations().all()
    return tuple(CATALOG[name] for name in sorted(CATALOG))
