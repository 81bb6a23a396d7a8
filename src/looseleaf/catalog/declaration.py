"""How a function becomes an operation: entered in the catalog, and run under its permission."""

from __future__ import annotations

from looseleaf.catalog.operation import CATALOG, Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.remote_context import RemoteContext

    Function = TypeVar("Function", bound=Callable[..., Any])

_COPIED_ATTRIBUTES = ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__")


def operation(
    name: str,
    *,
    permission: str,
    categories: tuple[str, ...],
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    changes_page: bool = False,
) -> Callable[[Function], Function]:
    """Register a function in the catalog, under the name that it has on every surface."""

    def enter(function: Function) -> Function:
        if name in CATALOG:
            raise ValueError(f"there are two operations called {name}")
        run = wrap_operation(name, function, permission)
        CATALOG[name] = Operation(
            name=name,
            run=run,
            permission=permission,
            read_only=read_only,
            destructive=destructive,
            idempotent=idempotent or read_only,
            categories=categories,
            changes_page=changes_page,
        )
        return run

    return enter


def wrap_operation(name: str, function: Function, permission: str) -> Function:
    """Return the function of an operation as it is run under its permission, with its own name."""

    def run(context: Context | RemoteContext, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        if context.is_remote:
            return context.call(name, run, arguments, options)
        context.parts.require_available()  # a missing folder must not look empty
        # The permission of the operation counts, whoever calls it and from where.
        operation_context = context.with_permission(permission)
        if operation_context.principal.agent_id:
            from looseleaf.catalog.page_access import bind_pages

            operation_context = bind_pages(operation_context)
        return function(operation_context, *arguments, **options)

    for attribute in _COPIED_ATTRIBUTES:
        setattr(run, attribute, getattr(function, attribute))
    run.__wrapped__ = function  # type: ignore[attr-defined]
    return run  # type: ignore[return-value]
