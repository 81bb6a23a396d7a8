"""Arguments of operations, from the address, the query and the body of a request."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from looseleaf.catalog.schemas.arguments import SYNONYMS, build_input_schema, resolve_synonym
from looseleaf.web.http.request_errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from looseleaf.catalog.operation import Operation

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
