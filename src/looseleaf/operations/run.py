"""The one door for surfaces: an operation by name, with JSON arguments, for whoever acts."""

from __future__ import annotations

from looseleaf.agents.accounts import Event
from looseleaf.errors import LooseleafError, OperationMissing, Refused
from looseleaf.operations import (
    agents,
    composed,
    daily,
    files,
    history,
    memory,
    prompt,
    search,
)
from looseleaf.operations.catalog import CATALOG
from looseleaf.operations.schema import arguments, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.operations.catalog import Operation
    from looseleaf.operations.context import Context

ROOMS = (
    agents,
    composed,
    daily,
    files,
    history,
    memory,
    prompt,
    search,
)  # each enters its operations
# Changes of accounts go into the audit together with what they change.
KEEPS_OWN_AUDIT = {"grants", "settings", "tokens", "users"}
_TARGET = ("file", "section", "date", "agent", "slug", "user", "name")


def invoke(context: Context, name: str, given: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401
    """Run an operation with JSON arguments as the one who acts; give its result as JSON."""
    return plain(perform(context, name, given))


def perform(context: Context, name: str, given: Mapping[str, Any] | None = None) -> object:
    """Run an operation with JSON arguments as the one who acts; changes go into the audit."""
    operation = find(name)
    chosen = arguments(operation, given or {})
    try:
        result: object = operation.run(context, **chosen)
    except Refused as refusal:
        record(context, operation, chosen, refusal)
        raise
    if not operation.read_only:
        record(context, operation, chosen)
    return result


def find(name: str) -> Operation:
    """Find an operation by its name, or raise `OperationMissing`."""
    found = CATALOG.get(name)
    if found is None:
        raise OperationMissing(name)
    return found


def record(
    context: Context,
    operation: Operation,
    chosen: Mapping[str, Any],
    refusal: LooseleafError | None = None,
) -> None:
    """Let the audit know what was done or refused; what is done locally stands in the history."""
    if context.accounts is None or context.principal.is_local:
        return
    if refusal is None and operation.permission in KEEPS_OWN_AUDIT:
        return
    outcome = f"refused: {refusal.code}" if refusal else "done"
    context.accounts().audit.add(event(context, operation.name, _target(chosen), outcome=outcome))


def event(context: Context, action: str, target: str = "", *, outcome: str = "done") -> Event:
    """Say who does this, for the audit."""
    principal = context.principal
    return Event(
        action,
        context.actor,
        principal.user_id,
        principal.kind,
        principal.credential,
        context.surface,
        target,
        outcome,
        context.reason,
    )


def _target(chosen: Mapping[str, Any]) -> str:
    """Name what was meant, never what was written."""
    where = chosen.get("where")
    named = {name: chosen[name] for name in _TARGET if chosen.get(name) is not None}
    if where is not None:
        named |= {"agent": where.agent, "user": where.user, "layer": where.layer}
    return " ".join(f"{name}={one}" for name, one in named.items() if one is not None)
