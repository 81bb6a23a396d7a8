"""Fields of a schema: described once, and every value comes back from its text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.schema_check import find_problem, find_schema_problem
from looseleaf.schema_fields import (
    COMMA,
    LINE,
    OTHER,
    FieldProblem,
    find_field,
    list_fields,
    read_fields,
    show_field,
)

EVERYTHING: dict[str, Any] = {
    "type": "object",
    "required": ["kind"],
    "additionalProperties": False,
    "properties": {
        "kind": {"type": "string", "enum": ["a", "b"], "default": "a", "title": "The kind"},
        "level": {"enum": [1, 2.5, True, None]},
        "same_text": {"enum": ["1", 1]},
        "text": {"type": "string", "description": "Some text."},
        "count": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10},
        "share": {"type": "number"},
        "on": {"type": "boolean"},
        "names": {"type": "array", "items": {"type": "string"}},
        "targets": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}},
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "params": {"type": "object"},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "open": {"type": "object", "properties": {"a": {"type": "string"}}},
        "closed": {
            "type": "object",
            "additionalProperties": False,
            "x-when": {"kind": ["b"]},
            "properties": {"id": {"type": "string"}, "least": {"type": "integer"}},
        },
        "key": {"type": "string", "writeOnly": True},
    },
}
FIELDS = {field.name: field for field in list_fields(EVERYTHING)}
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "kind": st.sampled_from(["a", "b"]),
    "level": st.sampled_from([1, 2.5, True, None]),
    "same_text": st.sampled_from(["1", 1]),
    "text": st.text(min_size=1),
    "count": st.integers(1, 50),
    "share": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**17), 10**17),
    "on": st.booleans(),
    "names": st.lists(st.text(), max_size=5),
    "targets": st.lists(st.sampled_from(["x", "y"]), max_size=3),
    "numbers": st.lists(st.integers(), max_size=3),
    "params": st.dictionaries(st.text(), _JSON, max_size=3),
    "either": st.text() | st.integers(),
    "open": st.dictionaries(st.text(), _JSON, max_size=3).filter(
        lambda entry: isinstance(entry.get("a", ""), str)
    ),
    "closed.id": st.text(min_size=1),
    "closed.least": st.integers(-(10**17), 10**17),
    "key": st.text(min_size=1),
}


def is_same(left: object, right: object) -> bool:
    """Compare as JSON does: true is not 1."""
    return repr(left) == repr(right)


def test_the_schema_of_this_test_is_taken_and_each_field_is_tested() -> None:
    """A new kind of field needs its values here."""
    assert find_schema_problem(EVERYTHING) is None
    assert set(FIELDS) == set(VALUES)
    kinds = {field.type for field in FIELDS.values()}
    assert kinds == {
        "text", "choice", "integer", "number", "yes or no", "list", "names and values", "JSON",
    }  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_every_value_comes_back_from_its_text(name: str) -> None:
    """In the form and at the command line, whatever signs it has."""
    field = FIELDS[name]

    @given(content=VALUES[name])
    def check(content: Any) -> None:  # noqa: ANN401 - any JSON
        for separator in (LINE, COMMA):
            text = field.format(content, separator=separator)
            assert is_same(field.parse(text, separator=separator), content)

    check()


@pytest.mark.parametrize("name", VALUES)
def test_a_form_that_nobody_touched_changes_nothing(name: str) -> None:
    """A browser sends line ends of its own; a value that no form could write stays, too."""
    field = FIELDS[name]

    @given(content=VALUES[name] | _JSON)
    def check(content: Any) -> None:  # noqa: ANN401 - any JSON
        settings = field.put({"kind": "a", "unknown": [1]}, content)
        texts = {
            other.name: show_field(other, settings).replace("\r\n", "\n").replace("\n", "\r\n")
            for other in list_fields(EVERYTHING)
        }
        after, problems = read_fields(EVERYTHING, settings, texts)
        assert is_same(after, settings)
        assert not problems

    check()


def test_a_field_is_described_by_its_schema_alone() -> None:
    """Title, default, limits, choices and the condition, which inner fields inherit."""
    assert FIELDS["kind"].title == "The kind"
    assert FIELDS["count"].title == "Count"
    assert (FIELDS["count"].default_text, FIELDS["count"].limits) == ("10", "1 to 50")
    assert FIELDS["kind"].is_required
    assert FIELDS["targets"].choices == ("x", "y")
    assert dict(FIELDS["closed.id"].condition) == {"kind": ("b",)}
    assert FIELDS["closed.id"].counts({"kind": "b"})
    assert not FIELDS["closed.id"].counts({}, FIELDS.values())
    assert FIELDS["key"].is_secret
    assert FIELDS["same_text"].type == "JSON"  # 1 and "1" look alike to people


def test_each_wrong_field_of_a_form_has_its_problem() -> None:
    """What can be used is taken; the wrong ones are named one by one."""
    texts = {"kind": "", "count": "51", "share": "much", "targets": "x\nz", "text": "good"}
    settings, problems = read_fields(EVERYTHING, {"kind": "a", "count": 3}, texts)
    assert settings == {"count": 3, "text": "good"}
    assert problems == {
        "kind": "it is needed",
        "count": "it must be at most 50",
        "share": "it must be a number, such as 0.5",
        "targets": "entry 2 must be one of x, y",
    }


def test_an_empty_text_takes_a_setting_away_and_a_secret_stays() -> None:
    """A secret is not shown, so that an empty field cannot mean that it should go."""
    before = {"kind": "a", "closed": {"id": "x"}, "key": "hidden", "more": 1}
    texts = {"closed.id": "", "key": "", OTHER: ""}
    settings, problems = read_fields(EVERYTHING, before, texts)
    assert (settings, problems) == ({"kind": "a", "key": "hidden"}, {})
    assert show_field(FIELDS["key"], before) == ""
    assert read_fields(EVERYTHING, before, {"key": "new"})[0]["key"] == "new"
    assert "key" not in read_fields(EVERYTHING, before, {"key": "", "key:clear": "yes"})[0]


def test_a_schema_that_is_open_has_a_field_for_all_others() -> None:
    """A plugin's step without a schema can be filled in, too."""
    (others,) = list_fields({})
    assert others.name == OTHER
    texts = {OTHER: "words = 3\nname = Ada\nlist = [1, 2]"}
    assert read_fields({}, {}, texts) == ({"words": 3, "name": "Ada", "list": [1, 2]}, {})
    assert read_fields({}, {"a": 1}, {OTHER: "a"})[1] == {
        OTHER: "each line is name = value, and 'a' is not"
    }
    assert find_field({}, "a").parse("3") == 3


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    """An object whose fields have names of their own is taken as JSON."""
    with pytest.raises(FieldProblem, match=r"the settings are: kind, .*closed\.id"):
        find_field(EVERYTHING, "knd")
    assert find_field(EVERYTHING, "closed").parse('{"id": "x"}') == {"id": "x"}
    with pytest.raises(FieldProblem, match="not JSON"):
        find_field(EVERYTHING, "closed").parse("{")
    assert find_problem(EVERYTHING, {"kind": "a", "closed": {"id": "x"}}) is None


def test_a_condition_names_a_field_beside_it() -> None:
    """Else the form would hide the field for ever."""
    wrong = {"properties": {"a": {"x-when": {"b": ["c"]}}}}
    assert "x-when" in (find_schema_problem(wrong) or "")
