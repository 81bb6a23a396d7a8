"""Functions value → value that others add: a visible list with priorities, not a side effect."""

from __future__ import annotations

from looseleaf.errors import Invalid, Refused
from looseleaf.memory.registry import check_word
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


@value
class Filter:
    """One function of a list; it depends on what it is given alone."""

    name: str
    priority: int
    apply: Callable[..., Any]
    owner: str = ""


class Filters:
    """A list of functions that each take a value, and what it is about, and give a value."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._known: dict[str, Filter] = {}
        self._frozen = False

    def register(
        self, name: str, priority: int, apply: Callable[..., Any], *, owner: str = ""
    ) -> Filter:
        """Add a function; those with a lower priority come first."""
        self._refuse_if_frozen(name)
        check_word(name, f"{self.what}'s name")
        if name in self._known:
            raise Invalid(f"There are two of the name {name} among the {self.what}s.")
        if type(priority) is not int or not callable(apply):
            raise Invalid(f"The {self.what} {name} needs a whole number and a function.")
        self._known[name] = Filter(name, priority, apply, owner)
        return self._known[name]

    def deregister(self, name: str) -> bool:
        """Take a function out; say whether it was there."""
        self._refuse_if_frozen(name)
        return self._known.pop(name, None) is not None

    def freeze(self) -> None:
        """End start-up."""
        self._frozen = True

    def all(self) -> tuple[Filter, ...]:
        """Give every function, by priority, then by name."""
        return tuple(sorted(self._known.values(), key=lambda one: (one.priority, one.name)))

    def _refuse_if_frozen(self, name: str) -> None:
        if self._frozen:
            raise Refused(f"The {self.what} {name} comes too late: add it as a plugin opens.")
