"""Types as annotations write them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import NotRequired, TypedDict

import pytest

from looseleaf.catalog.schemas import build_type_schema
from looseleaf.catalog.signature import (
    ANYTHING,
    Choice,
    Field,
    Items,
    Plain,
    Row,
    Table,
    Union,
    read_record,
    read_type,
)
from looseleaf.memory.pages import PageDocument, PageText

TEXT, NUMBER = Plain("string"), Plain("integer")


class Note(TypedDict):
    """What a plugin may give."""

    text: str
    tags: NotRequired[list[str]]


@dataclass
class Count:
    """What another plugin may give."""

    words: int
    note: Note


@pytest.mark.parametrize(
    ("text", "declared"),
    [
        ("str", TEXT),
        ("str | None", Union((TEXT, Plain("null")))),
        ("Literal['a', 'b|c']", Choice(("a", "b|c"))),
        ("list[int]", Items(NUMBER, list)),
        ("tuple[int, ...]", Items(NUMBER, tuple)),
        ("tuple[int, str]", Row((NUMBER, TEXT))),
        ("frozenset[str]", Items(TEXT, frozenset)),
        ("dict[str, list[str]]", Table(Items(TEXT, list))),
        ("Mapping[str, Any]", Table(Plain(ANYTHING))),
    ],
)
def test_a_type_is_read_as_it_is_written(text: str, declared: object) -> None:
    """Without evaluating it."""
    assert read_type(text, {}) == declared


@pytest.mark.parametrize(
    "text", ["dict", "list", "dict[int, str]", "Unknown", "list[str", "bytes[1]"]
)
def test_what_json_cannot_say_is_no_type(text: str) -> None:
    """Nor is a container of nothing in particular."""
    with pytest.raises(TypeError):
        read_type(text, {})


def test_a_plugin_may_give_a_typed_dictionary_or_a_dataclass() -> None:
    """By whatever way its annotations are kept."""
    note = read_record(Note)
    assert note.fields == (
        Field("text", TEXT, required=True),
        Field("tags", Items(TEXT, list), required=False),
    )
    names = vars(sys.modules[__name__])
    found = read_type("Count", names)
    assert found == read_record(Count)
    assert build_type_schema(found)["properties"]["note"]["required"] == ["text"]
    assert read_type(f"{__name__}.Count", names) == found


def test_a_value_may_leave_in_another_form() -> None:
    """As its method `document` says."""
    assert read_record(PageText).fields == read_record(PageDocument).fields
    assert read_record(PageText).kind is PageText
