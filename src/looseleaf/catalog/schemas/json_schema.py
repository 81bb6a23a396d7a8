"""Declared types as JSON schema: of arguments, and of results as `to_json_value` returns them."""

from __future__ import annotations

from functools import cache

from looseleaf.catalog.schemas.declared_types import (
    ANYTHING,
    Choice,
    Items,
    Plain,
    Record,
    Row,
    Table,
    Union,
    read_record,
    read_result_type,
)
from looseleaf.catalog.schemas.parameter_texts import FIELDS, read_texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from looseleaf.catalog.operation import Operation
    from looseleaf.catalog.schemas.declared_types import Type

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
    return {"type": "object", "properties": fields, "additionalProperties": False}


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
