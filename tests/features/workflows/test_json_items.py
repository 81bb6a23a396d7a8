"""Items of JSON documents: the list by a path, the fields by their usual names or by paths."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.errors.features import InvalidSource
from looseleaf.features.workflows.sources import find_value, parse_json_items

WORDPRESS = [
    {
        "id": 7,
        "date_gmt": "2026-04-17T09:30:00",
        "link": "https://blog.test/7",
        "title": {"rendered": "Seven"},
        "content": {"rendered": "<p>text</p>"},
    }
]


def test_the_usual_names_are_known() -> None:
    """Posts of WordPress need no paths."""
    (item,) = parse_json_items(json.dumps(WORDPRESS).encode())
    assert (item.identity, item.title, item.content) == ("7", "Seven", "<p>text</p>")
    assert (item.url, item.published) == ("https://blog.test/7", "2026-04-17T09:30:00Z")


def test_paths_lead_to_the_list_and_to_fields() -> None:
    """A path has names and positions."""
    document = {"data": [{"rows": [{"k": 1, "about": {"t": "One"}, "b": "text"}]}]}
    fields = {"id": "k", "title": "about.t", "content": "b"}
    (item,) = parse_json_items(json.dumps(document).encode(), path="data.0.rows", fields=fields)
    assert (item.identity, item.title, item.content) == ("1", "One", "text")


def test_an_entry_without_a_text_is_given_whole() -> None:
    """A model can read JSON, too."""
    (item,) = parse_json_items(b'{"items": [{"price": 3}]}')
    assert json.loads(item.content) == {"price": 3}


def test_one_object_is_one_item() -> None:
    """A path may lead to a single entry."""
    items = parse_json_items(b'{"post": {"id": 1, "title": "x"}}', path="post")
    assert [item.title for item in items] == ["x"]


@pytest.mark.parametrize(
    ("document", "path"),
    [(b"no", ""), (b"3", ""), (b'{"a": 1}', "a"), (b"[]", "x.y"), (b"[" * 100_000, "")],
)
def test_a_document_without_items_is_refused(document: bytes, path: str) -> None:
    """The error says what is missing."""
    with pytest.raises(InvalidSource):
        parse_json_items(document, path=path)


def test_the_limit_counts_items() -> None:
    """No more are read than wanted."""
    document = json.dumps([{"id": number} for number in range(50)]).encode()
    assert len(parse_json_items(document, limit=3)) == 3


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(json_values, st.text(max_size=12))
def test_any_document_and_path_have_an_answer(document: object, path: str) -> None:
    """A path leads to a part of the document, or nowhere."""
    find_value(document, path)
    try:
        parse_json_items(json.dumps(document).encode(), path=path)
    except InvalidSource:
        return
