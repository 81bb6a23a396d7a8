"""The operations of one workspace: those of the catalog, and those that plugins add."""

from __future__ import annotations

from looseleaf.agents.access import PERMISSIONS
from looseleaf.errors import InvalidOperation, OperationMissing
from looseleaf.memory.named import Named
from looseleaf.memory.registry import check_word
from looseleaf.operations.catalog import Operation, running
from looseleaf.operations.schema import schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from inspect import Signature
    from typing import Any


class Operations(Named):
    """What one can do in a workspace, by name."""

    what, hook = "operation", "register_operations"

    def register(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        permission: str,
        categories: tuple[str, ...] = (),
        read_only: bool = False,
        destructive: bool = False,
        idempotent: bool = False,
        owner: str = "",
    ) -> Operation:
        """Add a function as an operation, or refuse one that a surface could not offer.

        Tool policies name it by its categories; without any, by the name of its plugin.
        """
        for word in name.partition("/")[::2]:
            check_word(word, "part of an operation's name, which is yours/what-it-does,")
        if permission not in PERMISSIONS:
            known = ", ".join(PERMISSIONS)
            raise InvalidOperation(name, f"its permission is one of {known}, not {permission!r}")
        run = running(name, function, permission)
        run.__signature__ = _written(function)  # type: ignore[attr-defined]
        kind = (read_only, destructive, idempotent or read_only)
        for category in categories:
            check_word(category, "category of an operation")
        chosen = tuple(categories) or (owner or name.partition("/")[0],)
        made = Operation(name, run, permission, *kind, chosen, owner)
        try:
            schema(made)
        except (TypeError, SyntaxError) as error:
            raise InvalidOperation(name, str(error)) from error
        return self.add(made)

    def add(self, operation: Operation) -> Operation:
        """Add an operation as it is; a name that is taken is refused."""
        name = operation.name
        self._refuse_if_frozen(name)
        if name in self._known:
            raise InvalidOperation(name, f"{self._known[name].owner} has one of that name")
        self._known[name] = operation
        return operation

    def find(self, name: str) -> Operation:
        """Find an operation by its name, or raise `OperationMissing`."""
        found: Operation | None = self._known.get(name)
        if found is None:
            raise OperationMissing(name)
        return found

    def all(self) -> tuple[Operation, ...]:
        """Give every operation, by name."""
        return tuple(self._known[name] for name in sorted(self._known))

    def __contains__(self, name: object) -> bool:
        return name in self._known


def _written(function: Callable[..., Any]) -> Signature:
    """Give each type as it is written, however the module has it: as text, or evaluated."""
    import inspect

    signature = inspect.signature(function)
    parameters = []
    for one in signature.parameters.values():
        given = one.annotation
        text = given if isinstance(given, str) else inspect.formatannotation(given)
        quoted = text[:1] in ("'", '"') and text[:1] == text[-1:]
        parameters.append(one.replace(annotation=text[1:-1] if quoted else text))
    return signature.replace(parameters=parameters)
