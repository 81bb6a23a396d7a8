"""Values are frozen, compared by what they hold, and the same before and after being compiled."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from looseleaf.values import as_dict, changed, value


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
class Nothing:
    """No fields at all."""


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
    assert changed(point, y=5) == Point(1, 5)
    assert point == Point(1, 2)
    assert as_dict(point) == {"x": 1, "y": 2}


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
