"""Results as JSON has them; what may not leave is refused."""

from __future__ import annotations

import pytest

from looseleaf.catalog.json_values import to_json_value
from looseleaf.memory.pages import PageText
from looseleaf.memory.store import Found
from looseleaf.values import Secret, value


@value
class Line:
    """A value with a list in it."""

    number: int
    words: tuple[str, ...]


def test_values_become_objects_at_every_depth() -> None:
    """Values, mappings, tuples and sets are objects and lists; the keys of objects are texts."""
    result = {1: [Line(1, ("a", "b"))], "names": frozenset({"z", "y"})}
    assert to_json_value(result) == {
        "1": [{"number": 1, "words": ["a", "b"]}],
        "names": ["y", "z"],
    }
    assert to_json_value(None) is None
    assert to_json_value("text") == "text"


def test_a_page_is_its_own_document() -> None:
    """A decoded page says which fields it has; the bytes of a store never leave."""
    page = Found("é".encode(), updated=1.0)
    document = to_json_value(PageText("MEMORY.md", page, "agent"))
    assert document["content"] == "é"
    assert document["bytes"] == 2
    with pytest.raises(TypeError, match="PageText"):
        to_json_value({"page": page})


def test_a_secret_does_not_leave() -> None:
    """A secret inside a result is a fault, not a field."""
    with pytest.raises(TypeError, match="secret"):
        to_json_value([Secret("hush")])
