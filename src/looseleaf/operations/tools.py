"""Operations as tools that models call: names, what each tool fixes, and what is never offered."""

from __future__ import annotations

from looseleaf.errors import ToolMissing
from looseleaf.operations import daily, files, memory, prompt, search
from looseleaf.operations.catalog import CATALOG
from looseleaf.operations.schema import schema
from looseleaf.values import changed, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from looseleaf.operations.catalog import Operation
    from looseleaf.operations.context import Context

SMALL = (
    "get_agent_memory",
    "list_agent_memory_sections",
    "append_agent_memory",
    "update_agent_memory",
    "find_pages",
    "search_agent_memory",
    "list_agent_files",
    "daily_memory_read",
    "daily_memory_append",
    "search_daily_memory",
    "compose_prompt",
    "explain_prompt",
)
# Each enters its operations; the small set has no others, so that it waits for no other module.
EVERYDAY = (daily, files, memory, prompt, search)
# Arguments that an operation asks for, and that a model over MCP may leave out.
DEFAULTS: Mapping[str, Mapping[str, str]] = {
    "looseleaf/check-prompt": {"mode": "chat"},
    "looseleaf/compose-prompt": {"mode": "chat"},
    "looseleaf/diff-prompts": {"mode": "chat"},
    "looseleaf/explain-prompt": {"mode": "chat"},
}
# Each page has a layer where prompts and searches look for it. A model that has another choice puts
# facts where nothing finds them.
_NOT_IN_SMALL = ("layer",)
_RIGHTS = "who may do what is decided by people"
_NOT_FOR_MODELS = {  # by permission
    "audit": "the audit is kept of models, not for them",
    "chat": "a model that talks to models is paid for twice",
    "grants": _RIGHTS,
    "list_tokens": _RIGHTS,
    "operate": "what is gone for good is a person's decision",
    "settings": _RIGHTS,
    "tokens": _RIGHTS,
    "users": _RIGHTS,
}
NOT_OFFERED = {  # by name
    "looseleaf/configure-agent": "an agent must not lift its own policies",
    "looseleaf/delete-agent": "what is gone for good is a person's decision",
}
_OURS = ("datamachine", "looseleaf")
_SCOPE = ("agent", "user")


@value
class Variant:
    """One of several tools that an operation becomes, each with its own consequences."""

    name: str
    summary: str
    fixed: Mapping[str, str]
    hidden: tuple[str, ...] = ()
    destructive: bool = False
    idempotent: bool = False


# To append loses nothing, to replace may: clients ask a person before one and not the other.
VARIANTS = {
    "datamachine/update-agent-memory": (
        Variant(
            "append_agent_memory",
            "Add lines to the end of one section of a page, or add the section; nothing is lost.",
            {"mode": "append"},
            ("if_match", "allow_shrink"),
        ),
        Variant(
            "update_agent_memory",
            "Replace the text of one section of a page; the old text stays in the history.",
            {"mode": "set"},
            destructive=True,
            idempotent=True,
        ),
    ),
    "datamachine/daily-memory-write": (
        Variant(
            "daily_memory_append",
            "Add lines to one day of the journal; without a date, today in UTC.",
            {"mode": "append"},
            ("if_match", "allow_shrink"),
        ),
        Variant(
            "daily_memory_write",
            "Replace one day of the journal; the old text stays in the history.",
            {"mode": "write"},
            destructive=True,
            idempotent=True,
        ),
    ),
}


@value
class OperationTool:
    """One tool: an operation, with what is fixed about it."""

    name: str
    operation: Operation
    summary: str
    fixed: Mapping[str, str]
    hidden: tuple[str, ...]
    destructive: bool
    idempotent: bool

    @property
    def categories(self) -> tuple[str, ...]:
        """What tool policies may call it besides its name."""
        return self.operation.categories

    @property
    def defaults(self) -> Mapping[str, str]:
        """What a model need not say, though the operation asks for it."""
        return DEFAULTS.get(self.operation.name, {})

    @property
    def writes_journal(self) -> bool:
        """Whether it changes the daily journal, which may be closed to agents."""
        return "daily" in self.categories and not self.operation.read_only

    def parameters(self, *, scoped: bool) -> dict[str, Any]:
        """Give the JSON schema of its arguments; `scoped` leaves no choice of agent and user."""
        hidden = {*self.fixed, *self.hidden, *(_SCOPE if scoped else ())}
        shape = _without(schema(self.operation), hidden)
        required = [name for name in shape["required"] if name not in self.defaults]
        properties = {
            name: _not_null(one) if name in required else one
            for name, one in shape["properties"].items()
        }
        for name, default in self.defaults.items():
            properties[name] = {**properties[name], "default": default}
        return {**shape, "properties": properties, "required": required}


def why_not(operation: Operation) -> str | None:
    """Say why an operation is not offered to models; None where it is."""
    return NOT_OFFERED.get(operation.name) or _NOT_FOR_MODELS.get(operation.permission)


def tools_of(operation: Operation) -> tuple[OperationTool, ...]:
    """Give the tools that an operation becomes: one, or one for each consequence, or none."""
    if why_not(operation):
        return ()
    variants = VARIANTS.get(operation.name)
    if variants is None:
        kind = (operation.destructive, operation.idempotent)
        name = tool_name(operation.name)
        return (OperationTool(name, operation, operation.summary, {}, (), *kind),)
    return tuple(
        OperationTool(
            one.name, operation, one.summary, one.fixed, one.hidden, one.destructive, one.idempotent
        )
        for one in variants
    )


def tool_name(operation: str) -> str:
    """Give the name of an operation as every client takes it: letters, digits and underscores."""
    owner, slash, name = operation.partition("/")
    plain = name if slash and owner in _OURS else operation
    return plain.replace("/", "_").replace("-", "_")


def operation_tools(context: Context, *, full: bool = True) -> tuple[OperationTool, ...]:
    """List the tools of a workspace, plugins' too, by name; or the few that suffice every day."""
    if not full:
        found = {tool.name: tool for one in list(CATALOG.values()) for tool in tools_of(one)}
        return tuple(_without_choice(found[name]) for name in SMALL)
    operations = context.operations().all() if context.operations is not None else ()
    found = {tool.name: tool for one in operations for tool in tools_of(one)}
    return tuple(found[name] for name in sorted(found))


def _without_choice(tool: OperationTool) -> OperationTool:
    """Give a tool as the small set has it."""
    taken = schema(tool.operation)["properties"]
    hidden = tuple(name for name in _NOT_IN_SMALL if name in taken)
    return changed(tool, hidden=(*tool.hidden, *hidden))


def pick_tool(tools: Iterable[OperationTool], name: str) -> OperationTool:
    """Find a tool by its name or by that of its operation, or raise `ToolMissing`."""
    by_name = {tool.name: tool for tool in tools}
    found = by_name.get(name) or by_name.get(tool_name(name))
    if found is None:
        raise ToolMissing(name, tuple(by_name))
    return found


def _not_null(shape: dict[str, Any]) -> dict[str, Any]:
    """Take null out of what an argument may be: one that is needed is never null."""
    options = [one for one in shape.get("anyOf", ()) if one["type"] != "null"]
    if not options:
        return shape
    about = {name: one for name, one in shape.items() if name != "anyOf"}
    return {**(options[0] if len(options) == 1 else {"anyOf": options}), **about}


def _without(shape: dict[str, Any], hidden: set[str]) -> dict[str, Any]:
    """Take properties out of a schema, wherever in it they stand."""
    parts = {name: one for name, one in shape.get("properties", {}).items() if name not in hidden}
    kept = {name: _without(one, hidden & set(_SCOPE)) for name, one in parts.items()}
    narrowed = {**shape, "properties": kept} if "properties" in shape else dict(shape)
    if "required" in shape:
        narrowed["required"] = [name for name in shape["required"] if name not in hidden]
    return narrowed
