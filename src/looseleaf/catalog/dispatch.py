"""Dispatch for every surface: an operation by name, with JSON arguments, for a principal."""

from __future__ import annotations

from looseleaf.catalog import resolution
from looseleaf.catalog.context import act_for, build_event
from looseleaf.catalog.json_values import to_json_value
from looseleaf.catalog.resolution import agent_of, find_operation
from looseleaf.catalog.schemas import parse_arguments
from looseleaf.catalog.tool_access import require_operation
from looseleaf.errors import Forbidden, InvalidArgument, Unavailable
from looseleaf.errors.pages import AssembledText, PreconditionUnsupported
from looseleaf.memory.provenance import AGENT
from looseleaf.prompt.outputs import holds_block
from looseleaf.values import as_dict, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import Operation

# Operations with these permissions add their own entry to the audit, with the change itself.
KEEPS_OWN_AUDIT = {"grants", "settings", "tokens", "users"}
AGENT_NAMES = ("agent", "agent_id", "agent_slug")
_NOT_WRITTEN = ("old",)  # the argument of a change that takes text out of a page
_BASE64 = "data"  # the argument of a change that has the bytes of a file
_WORKFLOWS = ("pipeline", "flow")
_TARGET = ("file", "section", "date", "agent", "slug", "user", "name", "session", *_WORKFLOWS)


def invoke(
    context: Context, operation: Operation | str, json_arguments: Mapping[str, Any] | None = None
) -> Any:  # noqa: ANN401 - any JSON
    """Run an operation with JSON arguments as the principal; return its result as JSON."""
    return to_json_value(run_operation(context, operation, json_arguments))


def run_operation(
    context: Context, operation: Operation | str, json_arguments: Mapping[str, Any] | None = None
) -> object:
    """Run an operation with JSON arguments as the principal; changes go into the audit.

    The operation is given itself, or by its name.
    """
    if isinstance(operation, str):
        operation = find_operation(context, operation)
    return run_parsed(context, operation, parse_call(context, operation, json_arguments or {}))


def parse_call(
    context: Context, operation: Operation, json_arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a call as its function takes them, or raise `InvalidArgument`."""
    return parse_arguments(operation, _merge_agent_names(context, json_arguments))


def _merge_agent_names(context: Context, json_arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Accept an agent by id and by slug at once if both mean the same agent."""
    names = [
        name
        for name in AGENT_NAMES
        if type(json_arguments.get(name)) in (str, int) and json_arguments[name]
    ]
    if len(names) < 2:
        return json_arguments
    first, *repeats = names
    agent = agent_of(context.with_permission("read"), json_arguments[first])
    for name in repeats:
        if agent_of(context.with_permission("read"), json_arguments[name]).id != agent.id:
            raise InvalidArgument(
                name, f"it names another agent than {first}, which is {agent.slug}"
            )
    return {name: argument for name, argument in json_arguments.items() if name not in repeats}


def run_parsed(
    context: Context, operation: Operation, operation_arguments: Mapping[str, Any]
) -> object:
    """Run an operation with arguments as its function takes them; changes go into the audit."""
    require_precondition_kept(context, operation)
    if context.principal.agent_id:
        # Found anew for each operation, and once: a policy that changed during a turn binds it.
        agent = context.parts.agents.resolve(context.principal.agent_id)
        context = replace(context, permission=operation.permission, acting_agent=agent)
        context = act_for(context, agent)
        # A tool that a policy denies is denied as a resource, a file and an address of REST, too.
        require_operation(context, operation, operation_arguments)
    elif context.acting_agent is not None:
        context = replace(context, acting_agent=None)  # that of the operation that runs this one
    if not operation.read_only and context.principal.actor_kind == AGENT:
        refuse_assembled_text(operation_arguments)
    try:
        result: object = operation.run(context, **operation_arguments)
    except Forbidden as refusal:
        record_in_audit(context, operation, operation_arguments, refusal)
        raise
    if not operation.read_only:
        record_in_audit(context, operation, operation_arguments)
    return result


def require_possible(context: Context, operation: Operation) -> None:
    """Refuse a principal who may run an operation on nothing, before its arguments are read."""
    try:
        resolution.require_possible(context, operation.permission)
    except Forbidden as refusal:
        record_in_audit(context, operation, {}, refusal)
        raise


def require_precondition_kept(context: Context, operation: Operation) -> None:
    """Raise if a request names a version and the operation does not check versions."""
    if context.precondition is not None and not (operation.read_only or operation.changes_page):
        raise PreconditionUnsupported(operation.name)


def refuse_assembled_text(operation_arguments: Mapping[str, Any]) -> None:
    """Raise `AssembledText` if a model stores a part of its prompt as if it were new text."""
    for name, argument in operation_arguments.items():
        if name in _NOT_WRITTEN:
            continue
        for text in _list_texts(argument):
            if holds_block(_decode_base64(text) if name == _BASE64 else text):
                raise AssembledText


def _list_texts(argument: object) -> Iterator[str]:
    """Yield every text in an argument: in settings of steps, packets and queues, too."""
    if isinstance(argument, str):
        yield argument
    elif isinstance(argument, bytes):
        yield argument.decode(errors="replace")
    elif isinstance(argument, dict):
        for part in argument.values():
            yield from _list_texts(part)
    elif isinstance(argument, list | tuple):
        for part in argument:
            yield from _list_texts(part)
    elif hasattr(type(argument), "__match_args__"):
        yield from _list_texts(as_dict(argument))


def _decode_base64(text: str) -> str:
    from base64 import b64decode

    try:
        return b64decode(text, validate=True).decode(errors="replace")
    except ValueError:
        return ""  # the operation itself refuses such data


def record_in_audit(
    context: Context,
    operation: Operation,
    operation_arguments: Mapping[str, Any],
    refusal: Forbidden | None = None,
) -> None:
    """Add a change or a refusal to the audit; a local change stands in the history alone."""
    if context.principal.is_local:
        return
    if refusal is None and operation.permission in KEEPS_OWN_AUDIT:
        return
    outcome = "refused" if refusal else "done"
    entry = build_event(
        context, operation.name, _describe_target(operation_arguments), outcome=outcome
    )
    try:
        context.parts.add_event(entry)
    except Unavailable as error:
        # The change is done and stands in the page's history; after an error, the caller would
        # do it twice.
        context.parts.report(f"the audit has no entry for {entry.action} ({entry.target})", error)


def _describe_target(operation_arguments: Mapping[str, Any]) -> str:
    """Name the target of the call, never the text that it writes."""
    where = operation_arguments.get("where")
    parts = {
        name: operation_arguments[name]
        for name in _TARGET
        if operation_arguments.get(name) is not None
    }
    if where is not None:
        parts |= {"agent": where.agent, "user": where.user, "layer": where.layer}
    return " ".join(f"{name}={part}" for name, part in parts.items() if part is not None)
