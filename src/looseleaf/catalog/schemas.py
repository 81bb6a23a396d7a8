"""Declared types as JSON schema: of arguments, and of results as `to_json_value` returns them."""

from __future__ import annotations

from functools import cache

from looseleaf.catalog.json_values import LARGEST_INTEGER
from looseleaf.catalog.signature import (
    ANYTHING,
    FIELDS,
    REQUIRED,
    Choice,
    Items,
    Plain,
    Record,
    Row,
    Table,
    Union,
    find_record,
    names_of,
    read_record,
    read_result_type,
    read_texts,
    read_type,
    signature_of,
    split_outside,
)
from looseleaf.errors import InvalidArgument
from looseleaf.memory.scope import LAYERS, Where
from looseleaf.schema_check import find_problem
from looseleaf.values import list_required_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterator, Mapping
    from typing import Any

    from looseleaf.catalog.operation import Operation
    from looseleaf.catalog.signature import Type
    from looseleaf.settings import Settings

    Schema = dict[str, Any]


def build_result_schema(operation: Operation) -> Schema:
    """Return the JSON schema of an operation's result; callers share it and must not change it."""
    return build_type_schema(read_result_type(operation.run))


def build_type_schema(declared_type: Type) -> Schema:
    """Return the JSON schema of a type, exactly as `to_json_value` returns its values."""
    if isinstance(declared_type, Union):
        return _any_of([build_type_schema(option) for option in declared_type.options])
    if isinstance(declared_type, Items):
        return {"type": "array", "items": build_type_schema(declared_type.of)}
    if isinstance(declared_type, Row):
        return _build_row_schema([build_type_schema(part) for part in declared_type.parts])
    if isinstance(declared_type, Table):
        inner = build_type_schema(declared_type.of)
        return {"type": "object", **({"additionalProperties": inner} if inner else {})}
    if isinstance(declared_type, Record):
        return _build_record_schema(declared_type.kind)
    return _build_simple_schema(declared_type)


@cache
def _build_record_schema(kind: type) -> Schema:
    fields = read_record(kind).fields
    return {
        "title": kind.__name__,
        "type": "object",
        "properties": {field.name: build_type_schema(field.type) for field in fields},
        "required": [field.name for field in fields if field.required],
        "additionalProperties": False,
    }


def build_argument_schema(declared_type: Type) -> Schema:
    """Return the JSON schema of an argument, or raise `TypeError` if JSON cannot give one."""
    if isinstance(declared_type, Union):
        return _any_of([build_argument_schema(option) for option in declared_type.options])
    if isinstance(declared_type, Items) and declared_type.container is tuple:
        return {"type": "array", "items": build_argument_schema(declared_type.of)}
    if isinstance(declared_type, Table) and declared_type.of == Plain(ANYTHING):
        return {"type": "object"}
    if isinstance(declared_type, Record):
        return _build_argument_record(declared_type)
    if isinstance(declared_type, Choice) or (
        isinstance(declared_type, Plain) and declared_type.kind
    ):
        return _build_simple_schema(declared_type)
    raise TypeError("JSON has nothing like it")


def _build_argument_record(record: Record) -> Schema:
    texts = read_texts(record.kind.__doc__, FIELDS)
    fields = {}
    for field in record.fields:
        text = texts.get(field.name)
        fields[field.name] = build_argument_schema(field.type) | (
            {"description": text} if text else {}
        )
    required = list_required_fields(record.kind)
    return {
        "type": "object",
        "properties": fields,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _build_simple_schema(simple_type: Plain | Choice) -> Schema:
    if isinstance(simple_type, Choice):
        return {"type": "string", "enum": list(simple_type.texts)}
    return {"type": simple_type.kind} if simple_type.kind else {}


def _build_row_schema(parts: list[Schema]) -> Schema:
    bounds = {"minItems": len(parts), "maxItems": len(parts)}
    if all(part == parts[0] for part in parts):
        return {"type": "array", "items": parts[0], **bounds}
    return {"type": "array", "prefixItems": parts, **bounds}


def _any_of(options: list[Schema]) -> Schema:
    distinct = [option for at, option in enumerate(options) if option not in options[:at]]
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


# The arguments of operations: their JSON schema, and the check of arguments from JSON.


# The names that the WordPress plugin has for the same arguments.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "agent_config": ("config",),
    "agent_id": ("agent",),
    "agent_name": ("name",),
    "agent_slug": ("agent", "slug"),  # of a new agent, the slug that it gets
    "filename": ("file",),
    "flow_id": ("flow",),
    "job_id": ("job",),
    "flow_name": ("name",),
    "from": ("since",),
    "owner_id": ("owner",),
    "pipeline_id": ("pipeline",),
    "pipeline_name": ("name",),
    "request_id": ("request",),
    "session_id": ("session",),
    "to": ("until",),
    "user_id": ("user",),
}
_WHERE = {
    "agent": "str | int | None",
    "user": "int | None",
    "layer": f"Literal[{', '.join(map(repr, LAYERS))}] | None",
}
_WHERE_TEXTS = read_texts(Where.__doc__, FIELDS)


def build_input_schema(operation: Operation) -> Schema:
    """Return the JSON schema of an operation's arguments, from its signature and docstring."""
    properties: Schema = {}
    required = []
    texts = read_parameter_texts(operation)
    for name, (annotation, default) in _parameters_of(operation.run).items():
        properties[name] = {
            **_build_annotation_schema(operation.run, annotation),
            "description": texts.get(name, ""),
        }
        if default is REQUIRED:
            required.append(name)
        elif default not in (None, "", ()) and isinstance(default, str | int | float):
            properties[name]["default"] = default
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


# How long the arguments of one call may be as JSON: an argument that holds a page, a file or a
# definition makes a call long, and all others are short.


SHORT_BYTES = 65_536  # of a call without a long argument, and of what stands beside a long one
DEFINITION_BYTES = 4_194_304  # of a pipeline, a configuration or a queue of prompts
_FILES = frozenset(("data",))
_PAGES = frozenset(("content", "message", "new", "old"))
_DEFINITIONS = frozenset(
    ("attachments", "config", "document", "prompt", "prompt_queue", "setting", "step_settings")
) | {"steps", "system_prompt"}


def compute_argument_bytes(operation: Operation, settings: Settings) -> int:
    """Return the most bytes that the arguments of one call may have as JSON."""
    names = list_argument_names(operation)
    if not _FILES.isdisjoint(names):
        return settings.max_request_bytes
    size = 0
    if not _PAGES.isdisjoint(names):
        size = 2 * settings.max_page_bytes  # JSON writes a line end in two bytes
    if not _DEFINITIONS.isdisjoint(names):
        size = max(size, DEFINITION_BYTES)
    return min(size + SHORT_BYTES, settings.max_request_bytes)


def list_argument_names(operation: Operation) -> Collection[str]:
    """Return the names of an operation's arguments."""
    return _parameters_of(operation.run).keys()


@cache
def _parameters_of(run: Callable[..., Any]) -> dict[str, tuple[str, object]]:
    """Return the type and default of each argument; `where` becomes its parts, such as `agent`."""
    parameters: dict[str, tuple[str, object]] = {}
    for name, annotation, default in signature_of(run):
        if name == "where":
            parameters |= {part: (kind, None) for part, kind in _WHERE.items()}
        else:
            parameters[name] = (annotation, default)
    return parameters


def read_parameter_texts(operation: Operation) -> dict[str, str]:
    """Read what each argument of an operation means; `Where` describes its own parts."""
    return _texts_of(operation.run)


@cache
def _texts_of(run: Callable[..., Any]) -> dict[str, str]:
    texts = read_texts(run.__doc__)
    return _WHERE_TEXTS | texts if _takes_where(run) else texts


@cache
def _build_annotation_schema(run: Callable[..., Any], annotation: str) -> Schema:
    declared_type = read_type(annotation, names_of(run))
    try:
        return build_argument_schema(declared_type)
    except TypeError as error:
        raise TypeError(f"an operation cannot take {annotation}: {error}") from None


def parse_arguments(operation: Operation, json_arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of an operation from JSON, or raise `InvalidArgument`."""
    parameters = _parameters_of(operation.run)
    operation_arguments: dict[str, Any] = {}
    for key, argument in json_arguments.items():
        name = resolve_synonym(key, parameters)
        if name not in parameters:
            raise InvalidArgument(key, f"{operation.name} takes {', '.join(parameters) or 'none'}")
        if key in ("agent_id", "user_id") and argument == 0:
            argument = None  # noqa: PLW2901 - as Data Machine has it: nobody in particular
        if name in operation_arguments and operation_arguments[name] != argument:
            raise InvalidArgument(key, f"it contradicts {name}")
        _check(key, argument, _build_annotation_schema(operation.run, parameters[name][0]))
        try:
            operation_arguments[name] = _convert_argument(operation, argument, parameters[name][0])
        except TypeError as error:  # a record of a plugin with a missing field
            raise InvalidArgument(key, str(error)) from None
    for name, (_, default) in parameters.items():
        if default is REQUIRED and name not in operation_arguments:
            raise InvalidArgument(name, "it is missing")
    return _gather_where(operation, operation_arguments)


def resolve_synonym(name: str, parameters: Container[str]) -> str:
    """Return the argument that a name means among those that an operation takes."""
    if name in parameters:
        return name
    return next((synonym for synonym in SYNONYMS.get(name, ()) if synonym in parameters), name)


def _convert_argument(operation: Operation, argument: object, annotation: str) -> object:
    names = names_of(operation.run)
    for option in split_outside(annotation, "|"):
        item = option.removeprefix("tuple[").removesuffix(", ...]")
        kind = find_record(option if isinstance(argument, dict) else item, names)
        if kind is not None and isinstance(argument, dict):
            return kind(**argument)
        if kind is not None and isinstance(argument, list):
            return tuple(kind(**part) for part in argument)
    return tuple(argument) if isinstance(argument, list) else argument


def _gather_where(operation: Operation, operation_arguments: dict[str, Any]) -> dict[str, Any]:
    if not _takes_where(operation.run):
        return operation_arguments
    where = Where(*(operation_arguments.pop(part, None) for part in _WHERE))
    return {**operation_arguments, "where": where}


@cache
def _takes_where(run: Callable[..., Any]) -> bool:
    return any(name == "where" for name, _, _ in signature_of(run))


def _check(name: str, argument: object, argument_type: Schema) -> None:
    problem = find_problem(argument_type, argument, name) or _find_text_problem(name, argument)
    if problem is None:
        place = next(_find_large_numbers(argument, argument_type, name), None)
        problem = place and f"{place} must be integer, of at most {LARGEST_INTEGER}"
    if problem is not None:
        # The sentence of the error names the argument; a place inside of it is named in full.
        is_whole = problem.startswith(f"{name} ")
        raise InvalidArgument(name, f"it{problem.removeprefix(name)}" if is_whole else problem)


def _find_text_problem(name: str, argument: object) -> str | None:
    """Return the place of a text that no file, database or log could hold, and why, if any.

    The text of a page may hold a NUL and be long; the text of a definition may be long.
    """
    may_hold_nul = name in _PAGES
    may_be_long = may_hold_nul or name in _DEFINITIONS or name in _FILES
    pairs = [(name, argument)]  # a stack, since an argument may be nested as deeply as JSON
    while pairs:
        place, part = pairs.pop()
        if isinstance(part, dict):
            pairs += [(place, key) for key in part]
            pairs += [(f"{place}.{key}", inner) for key, inner in part.items()]
        elif isinstance(part, list | tuple):
            pairs += [(f"{place}[{number}]", inner) for number, inner in enumerate(part)]
        if not isinstance(part, str):
            continue
        if not part.isascii() and not _is_unicode(part):
            return f"{name} has half of a character (a lone surrogate), which is no text"
        if "\0" in part and not may_hold_nul:
            return f"{place} has a NUL character"
        if len(part) > SHORT_BYTES and not may_be_long:
            return f"{place} is too long: at most {SHORT_BYTES:,} characters"
    return None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _find_large_numbers(argument: object, argument_type: Schema, place: str) -> Iterator[str]:
    """Yield the place of each number of the schema that is not exact in JSON and in databases."""
    if isinstance(argument, int) and abs(argument) > LARGEST_INTEGER:
        yield place
    for option in argument_type.get("anyOf", (argument_type,)):
        if isinstance(argument, list):
            for number, item in enumerate(argument):
                yield from _find_large_numbers(item, option.get("items", {}), f"{place}[{number}]")
        elif isinstance(argument, dict):
            for name in option.get("properties", {}).keys() & argument.keys():
                part = option["properties"][name]
                yield from _find_large_numbers(argument[name], part, f"{place}.{name}")
