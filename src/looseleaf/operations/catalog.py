"""The list of operations: name, function, permission and what kind of act it is."""

from __future__ import annotations

from looseleaf.memory.registry import OWNER
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from looseleaf.operations.context import Context
    from looseleaf.operations.remote_context import Elsewhere

    Function = TypeVar("Function", bound=Callable[..., Any])

CATALOG: dict[str, Operation] = {}
_SHOWN = ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__")


@value
class Operation:
    """One thing one can do; its function's signature and docstring are its schema."""

    name: str
    run: Callable[..., Any]
    permission: str  # one that agents/access.py knows
    read_only: bool
    destructive: bool
    idempotent: bool
    categories: tuple[str, ...]  # by which tool policies name it, the widest first
    owner: str = OWNER
    versioned: bool = False  # whether it changes one page, and keeps a precondition on its version

    @property
    def summary(self) -> str:
        """What it does, in one sentence."""
        return (self.run.__doc__ or "").partition("\n")[0]


def operation(
    name: str,
    *,
    permission: str,
    categories: tuple[str, ...],
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    versioned: bool = False,
) -> Callable[[Function], Function]:
    """Enter a function in the catalog under a name that is its own on every surface."""

    def enter(function: Function) -> Function:
        if name in CATALOG:
            raise ValueError(f"there are two operations called {name}")
        run = running(name, function, permission)
        kind = (read_only, destructive, idempotent or read_only)
        made = Operation(name, run, permission, *kind, categories, versioned=versioned)
        CATALOG[name] = made
        return run

    return enter


def running(name: str, function: Function, permission: str) -> Function:
    """Give the function of an operation as it is run: under its permission, looking the same."""

    def run(context: Context | Elsewhere, *given: Any, **named: Any) -> Any:  # noqa: ANN401
        if context.is_remote:
            return context.call(name, run, given, named)
        context.agents.root_folder.glance()  # "not available" is never "there is nothing"
        # Whoever calls it, and from where: what it touches is allowed by its permission.
        acting = context.during(permission)
        if acting.principal.agent_id:
            from looseleaf.operations.page_access import bind_pages

            acting = bind_pages(acting)
        return function(acting, *given, **named)

    for attribute in _SHOWN:
        setattr(run, attribute, getattr(function, attribute))
    run.__wrapped__ = function  # type: ignore[attr-defined]
    return run  # type: ignore[return-value]
