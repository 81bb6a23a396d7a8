"""Abilities: every operation by its own name, with its schema and a way to run it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from looseleaf.operations import run
from looseleaf.operations.catalog import CATALOG
from looseleaf.operations.schema import schema
from looseleaf.operations.tool_access import offers_operation, require_operation
from looseleaf.web.answers import answer
from looseleaf.web.arguments import combined, from_query
from looseleaf.web.bodies import as_object, media_type, parse_object
from looseleaf.web.calls import body_of, invoke, reception_of
from looseleaf.web.listing import paged
from looseleaf.web.problems import Problem

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from looseleaf.operations.catalog import Operation
    from looseleaf.operations.context import Context

ABILITIES = "/wp-abilities/v1/abilities"


async def list_abilities(request: Request) -> Response:
    """List every operation with its schema."""
    context = reception_of(request).context(request)
    rest, window = paged(request)
    if rest:
        raise Problem(400, "invalid_argument", f"There is no argument {rest[0][0]}.")
    offered = [one for one in all_operations(context) if offers_operation(context, one)]
    return window.answer([described(one) for one in offered])


async def show_ability(request: Request) -> Response:
    """Describe one operation."""
    context = reception_of(request).context(request)
    return answer(described(run.find(context, request.path_params["name"])))


async def run_ability(request: Request) -> Response:
    """Run an operation; one that only reads may be asked by GET, too."""
    context = reception_of(request).context(request)
    operation = run.find(context, request.path_params["name"])
    if request.method in ("GET", "HEAD"):
        if not operation.read_only:
            message = f"{operation.name} changes something: use POST."
            raise Problem(405, "method_not_allowed", message, headers={"allow": "POST"})
        given = _asked(operation, request)
    else:
        media_type(request)
        given = _input(await parse_object(await body_of(request, operation)))
        given = combined(given, from_query(operation, request.query_params.multi_items()))
    require_operation(context, operation, given)
    return answer(await invoke(request, context, operation, given))


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
        "label": operation.name.partition("/")[2].replace("-", " ").capitalize(),
        "description": operation.summary,
        "category": operation.categories[0],
        "input_schema": schema(operation),
        "meta": {
            "permission": operation.permission,
            "annotations": {
                "readonly": operation.read_only,
                "destructive": operation.destructive,
                "idempotent": operation.idempotent,
            },
        },
    }


def all_operations(context: Context) -> tuple[Operation, ...]:
    """Give every operation of a workspace, by name."""
    if context.operations is not None:
        return context.operations().all()
    return tuple(CATALOG[name] for name in sorted(CATALOG))
