"""The list of operations: name, function, permission and what kind of act it is."""

from __future__ import annotations

from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])

CATALOG: dict[str, Operation] = {}


@value
class Operation:
    """One thing one can do; its function's signature and docstring are its schema."""

    name: str
    run: Callable[..., Any]
    permission: str  # read, write, identity (core and shared pages), agents, history or operate
    read_only: bool
    destructive: bool
    idempotent: bool

    @property
    def summary(self) -> str:
        """What it does, in one sentence."""
        return (self.run.__doc__ or "").partition("\n")[0]


def operation(
    name: str,
    *,
    permission: str,
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
) -> Callable[[Function], Function]:
    """Enter a function in the catalog under a name that is its own on every surface."""

    def enter(function: Function) -> Function:
        if name in CATALOG:
            raise ValueError(f"there are two operations called {name}")
        CATALOG[name] = Operation(
            name, function, permission, read_only, destructive, idempotent or read_only
        )
        return function

    return enter
