"""Documents are checked against the keywords of JSON schema that are known, and no others."""

from __future__ import annotations

import pytest

from looseleaf.schema_check import find_problem, find_schema_problem

PERSON = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 5},
        "age": {"type": ["integer", "null"], "minimum": 0, "maximum": 150},
        "mood": {"enum": ["calm", "merry"]},
        "tags": {"type": "array", "maxItems": 2, "items": {"type": "string"}},
        "address": {"type": "object", "required": ["town"]},
        "born": {"anyOf": [{"type": "integer"}, {"enum": ["unknown"]}, {"type": "array"}]},
    },
}


@pytest.mark.parametrize(
    "document",
    [
        {"name": "Ada"},
        {"name": "Ada", "age": 0, "mood": "calm", "tags": ["a", "b"], "address": {"town": "x"}},
        {"name": "Ada", "age": None},
        {"name": "Ada", "born": 1815},
        {"name": "Ada", "born": "unknown"},
    ],
)
def test_a_document_that_fits_has_no_problem(document: object) -> None:
    """Every keyword is content."""
    assert find_problem(PERSON, document) is None


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ([], "it must be object"),
        ({}, "name is missing"),
        ({"name": ""}, "name must be at least 1 characters"),
        ({"name": "Adelheid"}, "name must be at most 5 characters"),
        ({"name": "Ada", "age": True}, "age must be one of integer, null"),
        ({"name": "Ada", "age": -1}, "age must be at least 0"),
        ({"name": "Ada", "mood": "sad"}, "mood must be one of calm, merry"),
        ({"name": "Ada", "tags": ["a", 1]}, "tags[1] must be string"),
        ({"name": "Ada", "tags": ["a", "b", "c"]}, "tags must be at most 2 entries"),
        ({"name": "Ada", "address": {}}, "address.town is missing"),
        ({"name": "Ada", "size": 1}, "size is not known; the keys are: address, age, born, mood"),
        ({"name": "Ada", "born": "1815"}, "born must be one of integer, unknown, array"),
        ({"name": "Ada", "born": {}}, "born must be one of integer, unknown, array"),
    ],
)
def test_the_first_problem_is_named_with_its_place(document: object, problem: str) -> None:
    """The text says where it is and what is expected there."""
    assert (find_problem(PERSON, document) or "").startswith(problem)


def test_an_option_of_the_right_form_says_what_is_wrong_inside() -> None:
    """Rather than that a list must be a list."""
    schema = {"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "string"}}]}
    assert find_problem(schema, ["a", 1], "names") == "names[1] must be string"
    assert find_problem(schema, 5, "names") == "names must be one of null, array"


def test_deep_nesting_ends_in_a_problem() -> None:
    """A document from outside cannot exhaust the stack."""
    schema: dict[str, object] = {"type": "array"}
    schema["items"] = schema
    document: list[object] = []
    for _ in range(100):
        document = [document]
    assert "nested" in (find_problem(schema, document) or "")


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ([], "schema is not an object"),
        ({"pattern": "x"}, "schema has 'pattern'"),
        ({"type": "text"}, "schema.type is 'text'"),
        ({"properties": {"a": {"type": ["string", "date"]}}}, "schema.a.type is 'date'"),
        ({"items": {"oneOf": []}}, "schema[] has 'oneOf'"),
        ({"anyOf": [{"type": "date"}]}, "schema.type is 'date'"),
    ],
)
def test_a_schema_with_an_unknown_rule_is_refused(schema: object, problem: str) -> None:
    """No rule is written down and silently not applied."""
    assert (find_schema_problem(schema) or "").startswith(problem)
    assert find_schema_problem(PERSON) is None
