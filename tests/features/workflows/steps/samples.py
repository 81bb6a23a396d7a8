"""Values for the settings of any type of step, made from what the step declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from looseleaf.features.workflows.operations.steps import StepTypeInfo
    from looseleaf.schema_fields import SchemaField

NAMED = {
    "page": "MEMORY.md",
    "tool": "agent_memory",
    "uri": "https://news.example/feed",
    "publish-folder": "posts",
    "wordpress-site": "blog",
    "system-task": "daily_memory_generation",
    "flow-file": "notes, old.txt",
}


def make_value(field: SchemaField, number: int = 0) -> Any:  # noqa: ANN401 - any JSON
    """Return a value that a schema allows, with the signs that are hard to type."""
    schema = field.schema
    if "enum" in schema:
        return schema["enum"][number % len(schema["enum"])]
    kind = schema.get("type")
    if kind == "array":
        items = schema["items"]
        if "enum" in items:
            return list(items["enum"][: number + 1])
        return [NAMED.get(items.get("format", ""), "a, b"), *(["third"] if number else [])][
            : 1 if "format" in items else 2
        ]
    if kind == "object":
        return {"date": "2026-04-17", "count": number, "text": "7", "deep": {"a": [1, None]}}
    if kind == "boolean":
        return number % 2 == 0
    if kind in {"integer", "number"}:
        return min(schema.get("minimum", 1) + number, schema.get("maximum", 10**6))
    text = NAMED.get(field.names, "News of “{{title}}” = 50 %,\n{{content}}")
    return text if field.is_long or field.names in NAMED else text.partition("\n")[0]


def list_schema_fields(step_type: StepTypeInfo) -> list[SchemaField]:
    """List the fields of a type, the one of all other settings left out."""
    from looseleaf.schema_fields import OTHER, list_fields

    return [field for field in list_fields(step_type.settings_schema) if field.name != OTHER]
