"""How a function becomes an operation: entered in the catalog, and run under its permission."""

from __future__ import annotations

from looseleaf.catalog.operation import CATALOG, Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, Literal, Protocol, TypeVar

    from looseleaf.catalog.context import Context

    Function = TypeVar("Function", bound=Callable[..., Any])
else:
    Protocol = object


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
            from looseleaf.catalog.page_access import bind_to_agent

            operation_context = bind_to_agent(operation_context)
        return function(operation_context, *arguments, **options)

    for attribute in _COPIED_ATTRIBUTES:
        setattr(run, attribute, getattr(function, attribute))
    run.__wrapped__ = function  # type: ignore[attr-defined]
    return run  # type: ignore[return-value]


# The contract of a context whose workspace lies on a server: operations run there.


class RemoteContext(Protocol):
    """A context for operations that run on a server, in place of a `Context`."""

    is_remote: Literal[True]

    def call(
        self,
        name: str,
        run: Callable[..., Any],
        arguments: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:  # noqa: ANN401 - whatever the operation gives
        """Run an operation there, and return its result or raise its error."""

    def run(self, name: str, json_arguments: Mapping[str, object]) -> Any:  # noqa: ANN401 - as JSON data
        """Run an operation there with JSON arguments, and return its result as JSON data."""

    def listen(self, path: str, json_arguments: Mapping[str, object]) -> Iterator[dict[str, Any]]:
        """Request a stream of events there, and yield each event as it comes."""
