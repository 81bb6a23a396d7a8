"""Filters: functions from value to value that plugins add, in a visible list with priorities."""

from __future__ import annotations

from looseleaf.errors import Invalid
from looseleaf.memory.named_registry import NamedRegistry
from looseleaf.memory.registry import check_word
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


@value
class Filter:
    """One function of a list; its result depends on its arguments alone."""

    name: str
    priority: int
    apply: Callable[..., Any]
    owner: str = ""


class Filters(NamedRegistry):
    """A list of functions that each take a value with its context, and give a value."""

    def __init__(self, noun: str, hook: str) -> None:
        super().__init__()
        self.noun, self.hook = noun, hook

    def register(
        self, name: str, priority: int, apply: Callable[..., Any], *, owner: str = ""
    ) -> Filter:
        """Add a function; those with a lower priority come first."""
        self._refuse_if_frozen(name)
        check_word(name, f"{self.noun}'s name")
        if name in self._entries:
            raise Invalid(f"There are two of the name {name} among the {self.noun}s.")
        if type(priority) is not int or not callable(apply):
            raise Invalid(f"The {self.noun} {name} needs a whole number and a function.")
        new_filter = Filter(name, priority, apply, owner)
        self._entries[name] = new_filter
        return new_filter

    def all(self) -> tuple[Filter, ...]:
        """Return every function, by priority, then by name."""
        return self._by_priority()
