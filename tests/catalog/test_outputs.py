"""What a tool gives is one object, and its schema says which."""

from __future__ import annotations

from typing import TypedDict

import pytest
from jsonschema_rs import validate

from looseleaf.catalog.context import Context
from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.operation_tools import (
    MOST_CHARACTERS,
    build_output_schema,
    cut_long_text,
    wrap_result,
)
from looseleaf.catalog.registry import Operations


class Word(TypedDict):
    """What the tools of this test give."""

    content: str


def find_word(_context: Context) -> Word | None:
    """Return a word, or none."""
    return None


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_every_output_schema_is_of_an_object(name: str) -> None:
    """As the protocol asks for; a result that is none stands in one."""
    assert build_output_schema(CATALOG[name])["type"] == "object"


def test_a_result_that_is_not_always_an_object_is_wrapped() -> None:
    """Whatever it is this time: the schema says so for every time."""
    operation = Operations().register("acme/find-word", find_word, permission="read")
    for result in (None, {"content": "x"}):
        wrapped = wrap_result(operation, result)
        assert wrapped == {"result": result}
        validate(build_output_schema(operation), wrapped)


def test_a_text_that_was_cut_still_fits_its_schema() -> None:
    """With the fields that say so."""
    page = {
        "file": "big.md",
        "layer": "agent",
        "section": None,
        "content": "x" * (MOST_CHARACTERS + 1),
        "hash": "h",
        "bytes": MOST_CHARACTERS + 1,
        "updated": 0.0,
    }
    cut = cut_long_text(page)
    assert cut["truncated"]
    validate(build_output_schema(CATALOG["datamachine/get-agent-file"]), cut)
    validate(build_output_schema(CATALOG["datamachine/get-agent-file"]), page)
