"""Things that are registered by name while a workspace opens, and never after."""

from __future__ import annotations

from looseleaf.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Named:
    """What registries by name have in common; `what` they hold, and the `hook` that fills them."""

    what = "thing"
    hook = ""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}
        self._frozen = False

    def deregister(self, name: str) -> bool:
        """Take one out; say whether it was there."""
        self._refuse_if_frozen(name)
        return self._known.pop(name, None) is not None

    def freeze(self) -> None:
        """End start-up: from now on the same request meets the same things."""
        self._frozen = True

    def _by_priority(self) -> tuple[Any, ...]:
        """Give all of them by priority, then by name, whoever registered first."""
        return tuple(sorted(self._known.values(), key=lambda one: (one.priority, one.name)))

    def _refuse_if_frozen(self, name: str) -> None:
        if self._frozen:
            raise Refused(
                f"The {self.what} {name} comes too late: register it while the workspace opens, in "
                f"a plugin's {self.hook}."
            )
