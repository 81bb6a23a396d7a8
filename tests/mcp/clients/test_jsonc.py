"""JSON with comments: one place changes, everything else stays as it is, byte by byte."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from looseleaf.mcp.clients.file_formats import parse, remove_value, set_value

PLACE = ("servers", "ours")
ENTRY = {"command": "x", "args": ["y", "é"]}

words = some.text('ab é"\\/*,{}[]:\n', max_size=6)
scalars = some.none() | some.booleans() | some.integers(-99, 99) | words
values = some.recursive(
    scalars,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(words, inner, max_size=3),
)
gaps = some.sampled_from(
    ["", " ", "\n", "\n  ", " // note, {\n", "/* [, */", "\n\t/* two\nlines */ "]
)


@some.composite
def documents(draw: some.DrawFn) -> tuple[str, dict[str, Any]]:
    """Write a table in any layout, with comments and trailing commas."""

    def write(data: object) -> str:
        if isinstance(data, dict):
            items = [
                f"{json.dumps(key)}{draw(gaps)}:{draw(gaps)}{write(data[key])}" for key in data
            ]
        elif isinstance(data, list):
            items = [write(item) for item in data]
        else:
            return json.dumps(data, ensure_ascii=draw(some.sampled_from([True, False])))
        inside = ",".join(f"{draw(gaps)}{item}{draw(gaps)}" for item in items)
        inside += draw(some.sampled_from(["", ","])) + draw(gaps) if items else ""
        return f"{{{inside}}}" if isinstance(data, dict) else f"[{inside}]"

    data = draw(some.dictionaries(words, values, max_size=4))
    if draw(some.booleans()):
        data["servers"] = draw(some.dictionaries(words, values, max_size=3))
    return draw(gaps) + write(data) + draw(gaps), data


def notes(text: str) -> list[str]:
    """Return the comments of a text, strings left out."""
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', text, re.DOTALL)
    return [token for token in tokens if token.startswith("/")]


@given(documents())
def test_a_text_is_read_as_what_it_says(document: tuple[str, dict[str, Any]]) -> None:
    """In any layout."""
    text, data = document
    assert parse(text).data == data


@given(documents())
@example(('{\n"a": [], /* one */} /* two */', {"a": []}))
def test_an_entry_is_set_and_removed(document: tuple[str, dict[str, Any]]) -> None:
    """Every other value and every comment stays, at each step."""
    text, data = document
    after = set_value(text, PLACE, ENTRY)
    servers = {**data.get("servers", {}), "ours": ENTRY}
    assert parse(after).data == {**data, "servers": servers}
    assert notes(after) == notes(text)
    assert set_value(after, PLACE, ENTRY) == after
    replaced = set_value(after, PLACE, {"other": 1})
    assert parse(replaced).data["servers"]["ours"] == {"other": 1}
    removed = remove_value(after, PLACE)
    rest = {name: entry for name, entry in data.items() if name != "servers" or entry}
    assert parse(removed).data == rest
    if data.get("servers"):  # else its table goes with what is in it
        assert notes(removed) == notes(text)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"a":1}',
        '{"a": {"b": []}}\n',
        '{\n\t"a": {}\n}',
        '{\r\n  "servers": {\r\n    "x": 1 // one\r\n  }\r\n}\r\n',
        '// top\n{\n  "servers": {\n    "x": {"y": [2,]}, /* why */\n  },\n  "z": 1 // last\n}\n',
    ],
)
def test_a_round_trip_gives_the_same_bytes(text: str) -> None:
    """In the layouts that people and programs write."""
    after = set_value(set_value(text, PLACE, ENTRY), ("hooks", "Start", 0), {"hooks": [1]})
    assert remove_value(remove_value(after, ("hooks", "Start", 0)), PLACE) == text


def test_a_file_without_a_value_gets_one() -> None:
    """An empty one, or one of comments."""
    assert set_value("", ("a",), 1) == '{\n  "a": 1\n}\n'
    assert set_value("// mine\n", ("a", 0), 1) == '// mine\n{\n  "a": [\n    1\n  ]\n}\n'


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"a" 1}',
        '{"a": 1 "b": 2}',
        "{a: 1}",
        '{"a": 01x}',
        "[1",
        '{"a": 1}}',
        '{"a": "\n"}',
        '{"a": 1, "a": 2}',
        "[" * 200 + "]" * 200,
        "{,}",
        '{"a": }',
        "/* open",
        "'x'",
    ],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    """With the line where it is wrong."""
    with pytest.raises(ValueError, match=r"line \d|delimiter|Extra|Invalid"):
        parse(text)


@pytest.mark.parametrize("text", ["[]", '{"servers": 1}', '{"servers": []}'])
def test_a_place_that_cannot_be_is_refused(text: str) -> None:
    """What is there is never replaced by a table."""
    with pytest.raises(TypeError):
        set_value(text, PLACE, ENTRY)
