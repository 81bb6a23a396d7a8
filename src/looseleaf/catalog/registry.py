"""The operations of one workspace: those of the catalog, and those that plugins add."""

from __future__ import annotations

from looseleaf.access.principals import PERMISSIONS
from looseleaf.catalog.declaration import wrap_operation
from looseleaf.catalog.operation import CATALOG, Operation
from looseleaf.catalog.schemas import build_input_schema, build_result_schema
from looseleaf.errors.operations import InvalidOperation, OperationMissing
from looseleaf.memory.registry import NamedRegistry, check_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from inspect import Signature
    from types import ModuleType
    from typing import Any


class Operations(NamedRegistry):
    """The operations of a workspace, by name."""

    noun, hook = "operation", "register_operations"

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

        Tool policies name the operation by its categories; without any, by the name of its plugin.
        """
        for word in name.partition("/")[::2]:
            check_word(word, "part of an operation's name, which is yours/what-it-does,")
        if permission not in PERMISSIONS:
            permissions = ", ".join(PERMISSIONS)
            raise InvalidOperation(
                name, f"its permission is one of {permissions}, not {permission!r}"
            )
        run = wrap_operation(name, function, permission)
        run.__signature__ = _build_text_signature(function)  # type: ignore[attr-defined]
        for category in categories:
            check_word(category, "category of an operation")
        policy_categories = tuple(categories) or (owner or name.partition("/")[0],)
        operation = Operation(
            name=name,
            run=run,
            permission=permission,
            read_only=read_only,
            destructive=destructive,
            idempotent=idempotent or read_only,
            categories=policy_categories,
            owner=owner,
        )
        try:
            build_input_schema(operation)
            build_result_schema(operation)
        except (TypeError, SyntaxError) as error:
            raise InvalidOperation(name, str(error)) from error
        return self.add(operation)

    def add(self, operation: Operation) -> Operation:
        """Add an operation as it is; a name that is taken is refused."""
        name = operation.name
        self._refuse_if_frozen(name)
        if name in self._entries:
            raise InvalidOperation(name, f"{self._entries[name].owner} has one of that name")
        self._entries[name] = operation
        return operation

    def add_declared(self, *modules: ModuleType) -> None:
        """Add the operations that modules declare with `@operation`."""
        names = {module.__name__ for module in modules}
        for operation in list(CATALOG.values()):
            if operation.run.__module__ in names:
                self.add(operation)

    def find(self, name: str) -> Operation:
        """Find an operation by its name, or raise `OperationMissing`."""
        operation: Operation | None = self._entries.get(name)
        if operation is None:
            raise OperationMissing(name)
        return operation

    def all(self) -> tuple[Operation, ...]:
        """Return every operation, by name."""
        return tuple(self._entries[name] for name in sorted(self._entries))

    def __contains__(self, name: object) -> bool:
        return name in self._entries


def _build_text_signature(function: Callable[..., Any]) -> Signature:
    """Build the signature with each type as text, even if the module has evaluated it."""
    import inspect

    signature = inspect.signature(function)
    parameters = [
        parameter.replace(annotation=_format_annotation(parameter.annotation))
        for parameter in signature.parameters.values()
    ]
    result = signature.return_annotation
    if result is not signature.empty:
        result = _format_annotation(result)
    return signature.replace(parameters=parameters, return_annotation=result)


def _format_annotation(annotation: object) -> str:
    import inspect

    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    has_quotes = text[:1] in ("'", '"') and text[:1] == text[-1:]
    return text[1:-1] if has_quotes else text
