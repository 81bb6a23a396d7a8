"""Registries by name, which are filled while a workspace opens, and never after."""

from __future__ import annotations

from looseleaf.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self, TypeVar

    Derived = TypeVar("Derived")


class NamedRegistry:
    """A registry by name: the `noun` of its entries, and the `hook` that fills it."""

    noun = "entry"
    hook = ""

    def __init__(self) -> None:
        self._entries: dict[str, Any] = {}
        self._derived: dict[Callable[[Any], Any], Any] = {}
        self._is_frozen = False

    def deregister(self, name: str) -> bool:
        """Remove an entry; return whether it was there."""
        self._refuse_if_frozen(name)
        return self._entries.pop(name, None) is not None

    def freeze(self) -> None:
        """End the registration: from now on the entries stay the same."""
        self._is_frozen = True

    def derive(self, build: Callable[[Self], Derived]) -> Derived:
        """Return what a function builds from the entries: once, from when they stay the same."""
        if not self._is_frozen:
            return build(self)
        if build not in self._derived:
            self._derived[build] = build(self)
        derived: Derived = self._derived[build]
        return derived

    def _by_priority(self) -> tuple[Any, ...]:
        """Return the entries by priority, then by name, whatever the order of registration."""
        return self.derive(NamedRegistry._sort_by_priority)

    def _sort_by_priority(self) -> tuple[Any, ...]:
        return tuple(sorted(self._entries.values(), key=lambda entry: (entry.priority, entry.name)))

    def _refuse_if_frozen(self, name: str) -> None:
        if self._is_frozen:
            raise Refused(
                f"The {self.noun} {name} comes too late: register it while the workspace opens, in "
                f"a plugin's {self.hook}."
            )
