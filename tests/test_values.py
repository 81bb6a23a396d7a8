"""Values are frozen, compared by what they hold, and the same before and after being compiled."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Protocol

import pytest

from looseleaf.values import FrozenDict, as_dict, built_once, field_names, replace, value


@value
class Point:
    """A place."""

    x: int
    y: int = 0

    @property
    def sum(self) -> int:
        """Both together."""
        return self.x + self.y


@value
class Even:
    """A number that is made even on its way in."""

    number: int

    @staticmethod
    def normal(number: int) -> tuple[int]:
        """Take one off odd numbers."""
        return (number - number % 2,)


@value
class Text:
    """A text that counts how often it is taken apart."""

    text: str
    count: Callable[[], None]

    @built_once
    def words(self) -> list[str]:
        """The words of the text."""
        self.count()
        return self.text.split()


@value
class Nothing:
    """No fields at all."""


@value(kw_only=True)
class Journey:
    """More fields than can be told apart by their places."""

    start: str
    end: str
    by: str = "rail"
    day: int = 0
    hour: int = 0
    seats: int = 1
    price: int = 0


MANY = 40  # more than it takes for `__init__` to be compiled


def test_values_are_the_same_however_often_one_is_made() -> None:
    """The first instances and the compiled ones cannot be told apart."""
    made = [Point(1, y=2) for _ in range(MANY)] + [Point(1, 2), Point(x=1, y=2)]
    assert len(set(made)) == 1
    assert repr(made[0]) == repr(made[-1]) == "Point(x=1, y=2)"
    assert [Even(n).number for n in range(MANY)] == [n - n % 2 for n in range(MANY)]
    assert {Nothing() for _ in range(MANY)} == {Nothing()}


@pytest.mark.parametrize("made_before", [0, MANY])
def test_wrong_arguments_are_refused_before_and_after_compiling(made_before: int) -> None:
    """As any function would."""

    @value
    class Fresh:
        """A class of its own, so that its count begins at nothing."""

        x: int
        y: int = 0

    for _ in range(made_before):
        Fresh(1)
    for arguments, named in (((), {}), ((1, 2, 3), {}), ((1,), {"x": 2}), ((1,), {"z": 2})):
        with pytest.raises(TypeError):
            Fresh(*arguments, **named)
    assert Fresh(1) == Fresh(x=1, y=0)


def test_a_value_with_more_than_six_fields_takes_them_by_name() -> None:
    """Before and after compiling; the decorator refuses such a class without `kw_only`."""
    wrong: Any = Journey
    for _ in range(MANY):
        with pytest.raises(TypeError):
            wrong("Bern", "Rome")
        with pytest.raises(TypeError):
            wrong("Bern", end="Rome")
        assert Journey(end="Rome", start="Bern").start == "Bern"
    fields = dict.fromkeys(("a", "b", "c", "d", "e", "f"), "int")
    assert value(type("Row", (), {"__annotations__": fields}))
    with pytest.raises(TypeError, match=r"Row has 7 fields: use @value\(kw_only=True\)"):
        value(type("Row", (), {"__annotations__": {**fields, "g": "int"}}))


def test_a_value_that_takes_names_only_is_a_value_like_others() -> None:
    """It is compared, copied, pickled and shown by its fields."""
    journey = Journey(start="Bern", end="Rome")
    assert field_names(Journey) == tuple(as_dict(journey))
    assert replace(journey, end="Oslo") == Journey(start="Bern", end="Oslo")
    assert pickle.loads(pickle.dumps(journey)) == journey
    assert repr(journey).startswith("Journey(start='Bern', end='Rome', by='rail'")
    match journey:
        case Journey(start=start, by="rail"):
            assert start == "Bern"


def test_values_cannot_be_changed() -> None:
    """Neither a field, nor a new attribute, nor by deleting one."""
    point = Point(1)
    with pytest.raises(AttributeError, match="make a new value"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        point.z = 2  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        del point.x
    assert not hasattr(point, "__dict__")


def test_a_change_is_a_new_value() -> None:
    """The old one stays."""
    point = Point(1, 2)
    assert replace(point, y=5) == Point(1, 5)
    assert point == Point(1, 2)
    assert as_dict(point) == {"x": 1, "y": 2}


def test_a_property_is_built_once() -> None:
    """It belongs to one value, and is no field: two values that have read it or not are equal."""
    counts: list[int] = []
    text = Text("one two", lambda: counts.append(1))
    assert text.words is text.words
    assert counts == [1]
    new_text = replace(text, text="three")
    assert (new_text.words, counts, field_names(Text)) == (["three"], [1, 1], ("text", "count"))
    assert text == replace(text)
    with pytest.raises(AttributeError, match="cannot be changed"):
        text.words = []


def test_values_of_different_classes_are_never_equal() -> None:
    """Not even when they hold the same."""
    others: list[object] = [Even(2), (2, 0), 2, None]
    assert Point(2) not in others


def test_values_travel_between_processes_and_match_patterns() -> None:
    """They pickle, and `match` takes them apart."""
    assert pickle.loads(pickle.dumps(Point(3, 4))) == Point(3, 4)
    match Point(3, 4):
        case Point(x, y):
            assert (x, y, Point(3, 4).sum) == (3, 4, 7)


def test_making_values_imports_nothing_heavy() -> None:
    """That is what they are for."""
    code = "import sys; from looseleaf.memory.scope import Scope; Scope('agent', 0, 1, 'a.md')"
    code += "; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"dataclasses", "typing", "inspect", "re", "enum", "json", "pathlib"}
    assert not heavy & set(done.stdout.split())


@pytest.mark.parametrize("default", [[], {}, set(), bytearray(), ([],), FrozenDict(a=[])])
def test_a_default_that_can_be_changed_is_refused(default: object) -> None:
    """All instances would share it; even if it is inside something that cannot be changed."""
    body = {"__annotations__": {"parts": "object"}, "parts": default}
    with pytest.raises(
        TypeError, match=r"^Order\.parts has a mutable default \(\w+\): use a tuple"
    ):
        value(type("Order", (), body))


def test_a_value_with_an_immutable_default_is_made() -> None:
    """Tuples, frozen sets, frozen dictionaries, None, functions and other values."""
    for default in ((), frozenset({1}), FrozenDict(a=1), None, len, Point(1)):
        body = {"__annotations__": {"parts": "object"}, "parts": default}
        order: Any = value(type("Order", (), body))
        assert order().parts is default


def test_nothing_inherits_from_a_value() -> None:
    """A subclass would have fields that its own body does not show, or lack those that it does."""
    with pytest.raises(TypeError, match="Place inherits from the value Point: hold it"):

        class Place(Point):
            """With a third axis."""

            z: int


def test_a_field_of_a_base_class_is_declared_again() -> None:
    """A value has the fields of its own body; methods come from where one likes."""

    class NamedRegistry(Protocol):
        """Something with a name."""

        name: str

        def greeting(self) -> str:
            return f"Hello {self.name}"

    with pytest.raises(TypeError, match="Silent inherits name of NamedRegistry: declare it"):

        @value
        class Silent(NamedRegistry):
            """Without a field of its own."""

    @value
    class Spoken(NamedRegistry):
        """With the field of the protocol."""

        name: str

    assert Spoken("Ada").greeting() == "Hello Ada"


def test_a_frozen_dictionary_cannot_be_changed() -> None:
    """By none of the ways in which a dictionary can be."""
    table = FrozenDict(a=1)
    ways: tuple[Callable[[], object], ...] = (
        lambda: table.__setitem__("a", 2),
        lambda: table.__delitem__("a"),
        lambda: table.__ior__({"b": 2}),
        lambda: table.update(b=2),
        lambda: table.setdefault("b", 2),
        lambda: table.pop("a"),
        table.popitem,
        table.clear,
    )
    for change in ways:
        with pytest.raises(TypeError, match="make a new one"):
            change()
    assert table == {"a": 1}
    assert hash(table) == hash(FrozenDict(a=1))
    assert pickle.loads(pickle.dumps(table)) == table
    assert type(pickle.loads(pickle.dumps(table))) is FrozenDict
    assert {name for name in vars(dict) if name not in vars(object)} - set(vars(FrozenDict)) == {
        "__class_getitem__", "__contains__", "__getitem__", "__iter__", "__len__", "__or__",
        "__reversed__", "__ror__", "copy", "fromkeys", "get", "items", "keys", "values",
    }  # fmt: skip
