"""Functions value → value that others add: a visible list with priorities, not a side effect."""

from __future__ import annotations

from looseleaf.errors import Invalid
from looseleaf.memory.named import Named
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


class Filters(Named):
    """A list of functions that each take a value, and what it is about, and give a value."""

    def __init__(self, what: str, hook: str) -> None:
        super().__init__()
        self.what, self.hook = what, hook

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
        made = Filter(name, priority, apply, owner)
        self._known[name] = made
        return made

    def all(self) -> tuple[Filter, ...]:
        """Give every function, by priority, then by name."""
        return self._by_priority()
