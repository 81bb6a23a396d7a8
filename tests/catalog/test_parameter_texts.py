"""Every parameter of every operation has a text of its own, where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.schemas import build_input_schema, read_parameter_texts
from looseleaf.catalog.signature import FIELDS, read_texts, signature_of

PARTS_OF_WHERE = {"agent", "user", "layer"}


def descriptions(shape: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the text of each property of a schema, and of the properties in those."""
    for name, part in shape.get("properties", {}).items():
        yield name, part.get("description", "")
        yield from descriptions(part)
        yield from descriptions(part.get("items", {}))


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_every_parameter_has_one_sentence(name: str) -> None:
    """A model reads nothing else; the fields of a value that is taken have theirs, too."""
    for parameter, text in descriptions(build_input_schema(CATALOG[name])):
        assert text, f"say in the docstring what {parameter} means"
        assert text[0].isupper() or text.split()[0] in ("append", "disabled", "markdown", "viewer")
        assert text.endswith("."), (parameter, text)
        assert ". " not in text, (parameter, "more than one sentence", text)
        assert len(text) <= 200, (parameter, len(text), "longer than a model needs")


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_the_text_stands_at_the_parameter(name: str) -> None:
    """The docstring names every parameter of the function in order, and no other name."""
    run = CATALOG[name].run
    signature = [parameter for parameter, _, _ in signature_of(run)]
    written = list(read_texts(run.__doc__))
    own = [parameter for parameter in signature if parameter != "where"]
    allowed = PARTS_OF_WHERE if "where" in signature else set()
    assert [item for item in written if item in own] == own
    assert {item for item in written if item not in own} <= allowed


def test_an_operation_may_say_what_a_part_of_where_means_there() -> None:
    """Elsewhere it means what `Where` says."""
    common = read_parameter_texts(CATALOG["datamachine/get-agent-memory"])
    listing = read_parameter_texts(CATALOG["datamachine/list-agent-files"])
    assert "only layer" in listing["layer"]
    assert common["layer"] != listing["layer"]


def test_a_text_may_have_several_lines() -> None:
    """Deeper lines go on; what stands before the heading is no parameter."""
    docstring = """Do it.

    note: this is prose.

    Fields:
        first: One
            and more: still the first.
        second: Two.
    """
    assert read_texts(docstring, FIELDS) == {
        "first": "One and more: still the first.",
        "second": "Two.",
    }
    assert read_texts(docstring) == {}
    assert read_texts(None) == {}
