"""The one door for surfaces: an operation by name, with JSON arguments, for whoever acts."""

from __future__ import annotations

from looseleaf.agents.access import TOKEN
from looseleaf.errors import (
    AssembledText,
    Forbidden,
    InvalidArgument,
    OperationMissing,
    PreconditionUnsupported,
    Unavailable,
)
from looseleaf.operations.audit import event
from looseleaf.operations.catalog import CATALOG
from looseleaf.operations.context import agent_of
from looseleaf.operations.schema import arguments, plain
from looseleaf.operations.tool_access import require_operation
from looseleaf.prompt.blocks import holds_block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.agents.access import Principal
    from looseleaf.operations.catalog import Operation
    from looseleaf.operations.context import Context

# Changes of accounts go into the audit together with what they change.
KEEPS_OWN_AUDIT = {"grants", "settings", "tokens", "users"}
AGENT_NAMES = ("agent", "agent_id", "agent_slug")
PAGES = "memory"  # the category of every way to read or change pages
_NOT_WRITTEN = ("old",)  # the argument of a change that takes text out of a page
_BASE64 = "data"  # the argument of a change that has the bytes of a file
_TARGET = ("file", "section", "date", "agent", "slug", "user", "name", "session")


def invoke(context: Context, name: str, given: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401
    """Run an operation with JSON arguments as the one who acts; give its result as JSON."""
    return plain(perform(context, name, given))


def perform(context: Context, name: str, given: Mapping[str, Any] | None = None) -> object:
    """Run an operation with JSON arguments as the one who acts; changes go into the audit."""
    operation = find(context, name)
    return act(context, operation, arguments(operation, _one_agent(context, given or {})))


def _one_agent(context: Context, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Accept an agent by id and by slug at once where both mean the same agent."""
    names = [name for name in AGENT_NAMES if type(given.get(name)) in (str, int) and given[name]]
    if len(names) < 2:
        return given
    first, *others = names
    meant = agent_of(context.during("read"), given[first])
    for name in others:
        if agent_of(context.during("read"), given[name]).id != meant.id:
            raise InvalidArgument(
                name, f"it names another agent than {first}, which is {meant.slug}"
            )
    return {name: one for name, one in given.items() if name not in others}


def act(context: Context, operation: Operation, chosen: Mapping[str, Any]) -> object:
    """Run an operation with arguments as its function takes them; changes go into the audit."""
    require_precondition_kept(context, operation)
    if context.principal.agent_id and PAGES in operation.categories:
        # A tool that a policy denies is denied as a resource and as a file, too.
        require_operation(context, operation, chosen)
    if not operation.read_only and _is_model(context.principal):
        refuse_assembled(chosen)
    try:
        result: object = operation.run(context, **chosen)
    except Forbidden as refusal:
        record(context, operation, chosen, refusal)
        raise
    if not operation.read_only:
        record(context, operation, chosen)
    return result


def require_precondition_kept(context: Context, operation: Operation) -> None:
    """Raise where a request names a version and the operation could not look at it."""
    if context.precondition is not None and not (operation.read_only or operation.versioned):
        raise PreconditionUnsupported(operation.name)


def _is_model(principal: Principal) -> bool:
    """Say whether a model may be at work: by a token, or a person's rights through an agent."""
    return principal.kind == TOKEN or principal.is_agent


def refuse_assembled(chosen: Mapping[str, Any]) -> None:
    """Raise `AssembledText` where a model stores what a prompt has shown it, as if it were new."""
    for name, argument in chosen.items():
        if name not in _NOT_WRITTEN and isinstance(argument, str | bytes):
            text = argument if isinstance(argument, str) else argument.decode(errors="replace")
            if holds_block(_decode_base64(text) if name == _BASE64 else text):
                raise AssembledText


def _decode_base64(text: str) -> str:
    from base64 import b64decode

    try:
        return b64decode(text, validate=True).decode(errors="replace")
    except ValueError:
        return ""  # the operation says what is wrong with it


def find(context: Context, name: str) -> Operation:
    """Find an operation of a workspace, plugins' too, by its name, or raise `OperationMissing`."""
    # No plugin can take a name of ours, so what is imported need not wait for the other modules.
    found = CATALOG.get(name)
    if found is None and context.operations is not None:
        return context.operations().find(name)
    if found is None:
        raise OperationMissing(name)
    return found


def record(
    context: Context,
    operation: Operation,
    chosen: Mapping[str, Any],
    refusal: Forbidden | None = None,
) -> None:
    """Let the audit know what was done or refused; what is done locally stands in the history."""
    if context.add_event is None or context.principal.is_local:
        return
    if refusal is None and operation.permission in KEEPS_OWN_AUDIT:
        return
    outcome = "refused" if refusal else "done"
    told = event(context, operation.name, _target(chosen), outcome=outcome)
    try:
        context.add_event(told)
    except Unavailable as error:
        # The change is done and stands in the page's history; whoever is told that it failed
        # would do it twice.
        context.report(f"the audit has no entry for {told.action} ({told.target})", error)


def _target(chosen: Mapping[str, Any]) -> str:
    """Name what was meant, never what was written."""
    where = chosen.get("where")
    named = {name: chosen[name] for name in _TARGET if chosen.get(name) is not None}
    if where is not None:
        named |= {"agent": where.agent, "user": where.user, "layer": where.layer}
    return " ".join(f"{name}={one}" for name, one in named.items() if one is not None)
