"""The list of operations: name, function, permission and effects of each."""

from __future__ import annotations

from looseleaf.memory.registry import OWNER
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol, TypeVar

    Derived = TypeVar("Derived")
else:
    Protocol = object

CATALOG: dict[str, Operation] = {}


@value(kw_only=True)
class Operation:
    """An operation; the signature and the docstring of its function are its schema."""

    name: str
    run: Callable[..., Any]
    permission: str  # one that access/principals.py knows
    read_only: bool
    destructive: bool
    idempotent: bool
    categories: tuple[str, ...]  # by which tool policies name it, the widest first
    owner: str = OWNER
    changes_page: bool = False  # it changes one page, and keeps a precondition on its version

    @property
    def summary(self) -> str:
        """What the operation does, in one sentence."""
        return (self.run.__doc__ or "").partition("\n")[0]


class OperationList(Protocol):
    """The operations of one workspace, those of plugins too."""

    def find(self, name: str) -> Operation:
        """Find an operation by its name, or raise `OperationMissing`."""

    def all(self) -> tuple[Operation, ...]:
        """Return every operation, by name."""

    def derive(self, build: Callable[[OperationList], Derived]) -> Derived:
        """Return what a function builds from the operations, once in the life of the workspace."""

    def __contains__(self, name: object) -> bool:
        """Return whether there is an operation of this name."""
