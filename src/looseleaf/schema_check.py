"""The check of plain JSON against a JSON schema: arguments, files, packets, settings of steps.

The check knows the keywords in `KEYWORDS`. A schema with another keyword is refused when it is
registered, so that no rule is silently ignored.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    Schema = Mapping[str, Any]

_TYPES: dict[str, type | tuple[type, ...]] = {
    "array": list,
    "boolean": bool,
    "integer": int,
    "null": type(None),
    "number": (int, float),
    "object": dict,
    "string": str,
}
_BOUNDS = ("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems")
_PARTS = ("type", "properties", "required", "additionalProperties", "items", "enum", "anyOf")
# Keywords that describe a field to people, and refuse nothing: `format` says what a text is the
# name of, `writeOnly` that it is a secret, `x-when` with which values of other fields it counts.
_NOTES = ("title", "description", "default", "format", "writeOnly", "x-when")
KEYWORDS = frozenset((*_PARTS, *_BOUNDS, *_NOTES))
_DEEPEST = 32


def find_schema_problem(schema: object, path: str = "schema") -> str | None:
    """Return the reason why a schema cannot be applied, or None if it can."""
    if not isinstance(schema, dict):
        return f"{path} is not an object"
    foreign = sorted(set(schema) - KEYWORDS)
    if foreign:
        return f"{path} has {foreign[0]!r}; the keywords are {', '.join(sorted(KEYWORDS))}"
    for name in _list_types(schema):
        if name not in _TYPES:
            return f"{path}.type is {name!r}; the types are {', '.join(sorted(_TYPES))}"
    fault = _find_condition_problem(schema, path)
    if fault is not None:
        return fault
    children = [(f"{path}.{name}", part) for name, part in schema.get("properties", {}).items()]
    children += [(f"{path}[]", schema["items"])] if "items" in schema else []
    children += [(path, option) for option in schema.get("anyOf", ())]
    for place, part in children:
        problem = find_schema_problem(part, place)
        if problem is not None:
            return problem
    return None


def _find_condition_problem(schema: Schema, path: str) -> str | None:
    """Return why an `x-when` of a property names no values of a sibling, or None."""
    properties = schema.get("properties", {})
    for name, part in properties.items():
        condition = part.get("x-when", {}) if isinstance(part, dict) else {}
        if not isinstance(condition, dict):
            return f"{path}.{name}.x-when is not an object"
        for sibling, choices in condition.items():
            if sibling not in properties or not isinstance(choices, list | tuple):
                return f"{path}.{name}.x-when names no values of a field beside it"
    return None


def find_problem(schema: Schema, document: object, path: str = "") -> str | None:
    """Return the first reason why a document does not fit a schema, or None if it does."""
    return next(_find_problems(schema, document, path, 0), None)


def _find_problems(schema: Schema, document: object, path: str, depth: int) -> Iterator[str]:
    place = path or "it"
    if depth > _DEEPEST:
        yield f"{place} is nested more than {_DEEPEST} levels deep"
        return
    if "anyOf" in schema:
        yield from _find_option_problems(schema, document, path, depth)
        return
    names = _list_types(schema)
    has_type = not names or any(_has_type(document, name) for name in names)
    if not has_type or ("enum" in schema and document not in schema["enum"]):
        yield f"{place} must be {_name_choices(schema)}"
        return
    if isinstance(document, str):
        yield from _find_bound_problems(
            place, len(document), schema, ("minLength", "maxLength"), "characters"
        )
    elif isinstance(document, int | float) and not isinstance(document, bool):
        yield from _find_bound_problems(place, document, schema, ("minimum", "maximum"), "")
    elif isinstance(document, list):
        yield from _find_bound_problems(
            place, len(document), schema, ("minItems", "maxItems"), "entries"
        )
        for number, entry in enumerate(document if "items" in schema else ()):
            yield from _find_problems(schema["items"], entry, f"{path}[{number}]", depth + 1)
    elif isinstance(document, dict):
        yield from _find_object_problems(schema, document, path, depth)


def _find_option_problems(schema: Schema, document: object, path: str, depth: int) -> Iterator[str]:
    """Yield why no option fits: the problem inside of a list or object, or else the choices."""
    options = schema["anyOf"]
    problems = [next(_find_problems(option, document, path, depth), None) for option in options]
    if None in problems:
        return
    if isinstance(document, list | dict):
        for option, problem in zip(options, problems, strict=True):
            if any(_has_type(document, name) for name in _list_types(option)):
                yield str(problem)
                return
    yield f"{path or 'it'} must be {_name_choices(schema)}"


def _find_object_problems(
    schema: Schema, document: dict[str, object], path: str, depth: int
) -> Iterator[str]:
    prefix = f"{path}." if path else ""
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in document:
            yield f"{prefix}{name} is missing"
    for name, part in document.items():
        if name in properties:
            yield from _find_problems(properties[name], part, f"{prefix}{name}", depth + 1)
        elif schema.get("additionalProperties", True) is False:
            expected = ", ".join(sorted(properties)) or "none"
            yield f"{prefix}{name} is not known; the keys are: {expected}"


def _find_bound_problems(
    place: str, size: float, schema: Schema, keywords: tuple[str, str], unit: str
) -> Iterator[str]:
    low, high = schema.get(keywords[0]), schema.get(keywords[1])
    unit = f" {unit}" if unit else ""
    if low is not None and size < low:
        yield f"{place} must be at least {low}{unit}"
    if high is not None and size > high:
        yield f"{place} must be at most {high}{unit}"


def _name_choices(schema: Schema) -> str:
    """Name what a document may be: the texts of an enum, or the types."""
    choices = [
        str(choice)
        for option in schema.get("anyOf", (schema,))
        for choice in option.get("enum") or _list_types(option)
    ]
    return f"one of {', '.join(choices)}" if choices[1:] else choices[0]


def _list_types(schema: Schema) -> tuple[str, ...]:
    names = schema.get("type", ())
    return (names,) if isinstance(names, str) else tuple(names)


def _has_type(document: object, name: str) -> bool:
    if isinstance(document, bool):
        return name == "boolean"
    return isinstance(document, _TYPES[name])
