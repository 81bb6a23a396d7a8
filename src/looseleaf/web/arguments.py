"""Arguments of operations, from the address, the query and the body of a request."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from looseleaf.operations.schema import SYNONYMS, meant_by, schema
from looseleaf.web.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from looseleaf.operations.catalog import Operation

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,14})", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?", re.ASCII)
_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@cache
def kinds_of(operation: Operation) -> dict[str, tuple[frozenset[str], str]]:
    """Give of each argument which kinds of JSON it may be, and of what kind its items are."""
    return {name: _kinds(one) for name, one in schema(operation)["properties"].items()}


def _kinds(wanted: Mapping[str, Any]) -> tuple[frozenset[str], str]:
    parts = wanted.get("anyOf", [wanted])
    kinds: set[str] = set()
    items = "string"
    for part in parts:
        kind = part["type"]
        kinds |= {kind} if isinstance(kind, str) else set(kind)
        items = part.get("items", {}).get("type", items)
    return frozenset(kinds), items


@cache
def accepted_schema(operation: Operation) -> dict[str, Any]:
    """Give the JSON schema of all arguments that are taken, with every name an argument may have.

    An argument that is needed may be given under any of its names.
    """
    wanted = schema(operation)
    properties = dict(wanted["properties"])
    names: dict[str, list[str]] = {}
    for synonym in SYNONYMS:
        meant = meant_by(synonym, wanted["properties"])
        if synonym != meant:
            shape = {key: one for key, one in properties[meant].items() if key != "default"}
            properties[synonym] = {**shape, "description": f"The same as {meant}."}
            names.setdefault(meant, [meant]).append(synonym)
    required = [name for name in wanted["required"] if name not in names]
    either = [
        {"anyOf": [{"required": [name]} for name in names[needed]]}
        for needed in wanted["required"]
        if needed in names
    ]
    made = {**wanted, "properties": properties, "required": required}
    return {**made, "allOf": either} if either else made


def from_query(operation: Operation, query: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Give the arguments that a query says, each as the kind that the operation takes."""
    found: dict[str, Any] = {}
    if not query:
        return found
    kinds = kinds_of(operation)
    for told, text in query:
        name = told.removesuffix("[]")
        takes, _ = kinds.get(meant_by(name, kinds), (frozenset(), ""))
        if "array" in takes:
            found.setdefault(name, []).extend(part for part in text.split(",") if part)
        elif name in found:
            raise Problem(400, "invalid_argument", f"The argument {name} is given twice.")
        else:
            found[name] = _made(name, text, takes)
    return found


def _made(name: str, text: str, takes: frozenset[str]) -> object:
    """Make of a text what is meant; what cannot be is left for the operation to refuse."""
    whole = _WHOLE.fullmatch(text) is not None
    if "string" in takes:
        # An id may be a number or a slug; whoever says id means the number.
        return int(text) if whole and name.endswith("_id") else text
    if "integer" in takes and whole:
        return int(text)
    if "number" in takes and _NUMBER.fullmatch(text):
        return float(text)
    if "boolean" in takes and text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    return text


def combined(*sources: Mapping[str, Any]) -> dict[str, Any]:
    """Put arguments from several places together; none may say what another denies."""
    found: dict[str, Any] = {}
    for source in sources:
        for name, argument in source.items():
            if name in found and found[name] != argument:
                message = f"The argument {name} is given twice, and not the same."
                raise Problem(400, "invalid_argument", message)
            found[name] = argument
    return found
