"""The names that a tool policy can use: every tool and every category of a workspace.

A policy that denies a misspelled name denies nothing, so unknown names are refused when a policy is
set. A stored policy may name the tool of a plugin that is gone; the doctor reports it.
"""

from __future__ import annotations

from looseleaf.catalog.tools.memory_tools import MODEL_TOOLS
from looseleaf.catalog.tools.operation_tools import format_tool_name, tools_of
from looseleaf.errors.pages import InvalidPolicy
from looseleaf.files.folders import casefold_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from looseleaf.catalog.operation import OperationList
    from looseleaf.memory.policy import ToolPolicy

_NEAREST = 3


def check_tool_names(operations: OperationList, policy: ToolPolicy) -> None:
    """Refuse a tool policy that names a tool or category that the workspace does not have."""
    for fault in find_unknown_tools(operations, policy):
        raise InvalidPolicy(fault)


def find_unknown_tools(operations: OperationList, policy: ToolPolicy) -> Iterator[str]:
    """Describe each unknown name in a tool policy, with the names that may be meant."""
    for kind, names, fold_available in (
        ("tool", policy.tools, _fold_tool_names),
        ("category", policy.categories, _fold_tool_categories),
    ):
        available_names = operations.derive(fold_available) if names else {}
        for name in names:
            if casefold_name(name) not in available_names:
                yield _describe(kind, name, available_names)


def _fold_tool_names(operations: OperationList) -> Mapping[str, str]:
    return {casefold_name(name): name for name in list_tool_names(operations)}


def _fold_tool_categories(operations: OperationList) -> Mapping[str, str]:
    return {casefold_name(name): name for name in list_tool_categories(operations)}


def list_tool_names(operations: OperationList) -> list[str]:
    """List the names of all tools, of plugins too, and of operations that are never offered."""
    names = set(MODEL_TOOLS)
    for operation in operations.all():
        names |= {tool.name for tool in tools_of(operation)} or {format_tool_name(operation.name)}
    return sorted(names)


def expand_tool_names(operations: OperationList, policy: ToolPolicy) -> tuple[str, ...]:
    """List the names of the tools that a policy lists by name or by category."""
    categories = {casefold_name(category) for category in policy.categories}
    if not categories:
        return (*policy.tools, *policy.outside_tools)
    tools = {tool.name: tool.categories for tool in MODEL_TOOLS.values()}
    for operation in operations.all():
        tools |= {tool.name: tool.categories for tool in tools_of(operation)}
    names = [
        name
        for name, tool_categories in tools.items()
        if categories & set(map(casefold_name, tool_categories))
    ]
    return (*policy.tools, *policy.outside_tools, *names)


def list_tool_categories(operations: OperationList) -> list[str]:
    """List the categories of all tools."""
    holders: Iterable[tuple[str, ...]] = (
        *(tool.categories for tool in MODEL_TOOLS.values()),
        *(operation.categories for operation in operations.all()),
    )
    return sorted({category for categories in holders for category in categories})


def _describe(kind: str, name: str, available_names: Mapping[str, str]) -> str:
    from difflib import get_close_matches

    # A policy lists tools; the name of an operation is near to that of its tool.
    nearest = get_close_matches(casefold_name(format_tool_name(name)), available_names, n=_NEAREST)
    names = ", ".join(available_names[key] for key in nearest or available_names)
    start = f"there is no {kind} {name!r}; {'nearest' if nearest else 'available'}: {names}"
    if kind == "category":
        return start
    return f"{start}. A tool that a program brings with its requests belongs in outside_tools"
