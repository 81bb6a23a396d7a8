"""The checks of the doctor, and their findings about pages, folders or the database."""

from __future__ import annotations

import os

from looseleaf.errors import InvalidName
from looseleaf.memory.named_registry import NamedRegistry
from looseleaf.memory.registry import OWNER
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Literal

    from looseleaf.catalog.context import Context


@value
class Finding:
    """The check, its status and detail, and the advice to follow."""

    check: str
    status: Literal["ok", "warning", "fault"]
    detail: str
    advice: str = ""


@value
class CheckRun:
    """One run of the doctor, as each check is given it.

    Fields:
        context: The context of the operation: the parts of the workspace, settings and pages.
        verify: Whether every page and index is read and compared with its checksum.
    """

    context: Context
    verify: bool = False

    @property
    def root(self) -> str:
        """The folder of the workspace, without links."""
        return os.path.realpath(self.context.settings.root)


@value
class Check:
    """A check by its name; one with `verify_only` runs only if every page is verified."""

    name: str
    run: Callable[[CheckRun], Iterable[Finding]]
    priority: int = 50
    verify_only: bool = False
    owner: str = OWNER


class Checks(NamedRegistry):
    """The checks of one workspace's doctor, by name."""

    noun, hook = "check", "register_checks"

    def register(
        self,
        name: str,
        run: Callable[[CheckRun], Iterable[Finding]],
        *,
        priority: int = 50,
        verify_only: bool = False,
        owner: str = "",
    ) -> Check:
        """Add a check, or refuse one whose name is taken.

        Checks run by priority, then in the order of their registration.
        """
        self._refuse_if_frozen(name)
        if name in self._entries:
            raise InvalidName(name, f"{self._entries[name].owner} has a check of that name")
        check = Check(name, run, priority, verify_only, owner or OWNER)
        self._entries[name] = check
        return check

    def all(self) -> tuple[Check, ...]:
        """Return every check, by priority."""
        return tuple(sorted(self._entries.values(), key=lambda check: check.priority))
