"""The result of a tool for a model: one JSON object, bounded, with its schema."""

from __future__ import annotations

from looseleaf.catalog.schemas.json_schema import build_result_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from looseleaf.catalog.operation import Operation

    Schema = dict[str, Any]

MOST_CHARACTERS = 100_000  # of one text in a result, so that it fits into a context window
RESULT = "result"  # the name of a result that is no object
# The additional fields of a result whose text was cut.
_EXCERPT_FIELDS: Schema = {
    "truncated": {"type": "boolean"},
    "content_length": {"type": "integer"},
    "hint": {"type": "string"},
}


def cut_long_text(result: Any) -> Any:  # noqa: ANN401 - any JSON
    """Cut a text that would fill a model's context, and say so."""
    if not isinstance(result, dict) or len(str(result.get("content", ""))) <= MOST_CHARACTERS:
        return result
    text = result["content"]
    excerpt = {"content": text[:MOST_CHARACTERS], "truncated": True, "content_length": len(text)}
    return {**result, **excerpt, "hint": "Read one section of it, or search in it."}


def wrap_result(operation: Operation, result: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """Return a result as an object, in the form of the operation's output schema."""
    if _is_object(build_result_schema(operation)):
        content: dict[str, Any] = result
        return content
    return {RESULT: result}


def build_output_schema(operation: Operation) -> Schema:
    """Return the JSON schema of the object that a tool of an operation gives."""
    shape = build_result_schema(operation)
    if not _is_object(shape):
        return {
            "type": "object",
            "properties": {RESULT: shape},
            "required": [RESULT],
            "additionalProperties": False,
        }
    if "anyOf" in shape:
        return {
            "type": "object",
            "anyOf": [_add_excerpt_fields(option) for option in shape["anyOf"]],
        }
    return _add_excerpt_fields(shape)


def _is_object(shape: Schema) -> bool:
    return all(option.get("type") == "object" for option in shape.get("anyOf", [shape]))


def _add_excerpt_fields(shape: Schema) -> Schema:
    """Add the fields of a text that was cut, if there is a text."""
    properties = shape.get("properties", {})
    if properties.get("content") != {"type": "string"}:
        return shape
    return {**shape, "properties": {**_EXCERPT_FIELDS, **properties}}
