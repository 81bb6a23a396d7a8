"""Operations as tools that models call: names, what each tool fixes, and what is never offered."""

from __future__ import annotations

from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.schemas import build_input_schema, build_result_schema
from looseleaf.catalog.signature import ORIGIN, ORIGIN_SCHEMA, takes_origin
from looseleaf.errors.operations import ToolMissing
from looseleaf.memory.store import shorten_version
from looseleaf.values import FrozenDict, built_once, replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import Operation, OperationList

    Schema = dict[str, Any]


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
# Arguments that an operation asks for, and that a model over MCP may leave out.
DEFAULTS: Mapping[str, Mapping[str, str]] = {
    "looseleaf/check-prompt": {"mode": "chat"},
    "looseleaf/compose-prompt": {"mode": "chat"},
    "looseleaf/diff-prompts": {"mode": "chat"},
    "looseleaf/explain-prompt": {"mode": "chat"},
}
# Each page has a layer where prompts and searches look for it. A model that has another choice puts
# facts where nothing finds them. A search through copies of pages would give it each fact twice.
_NOT_IN_SMALL = ("layer", "copies")
# Every request carries the small set. A coding agent asks for its own memory as it stands now, so
# these tools have there what is said of them here: a summary, and arguments with their texts.
_BRIEF: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "compose_prompt": (
        "Return your whole memory as a session starts with it: who you are and what you know.",
        {"mode": "The kind of session: chat, pipeline, system or a mode of your own."},
    ),
    "explain_prompt": (
        "List what the memory of a session is made of: pages given or left out, by which rule.",
        {"mode": "The kind of session, as in compose_prompt."},
    ),
}
_RIGHTS = "who may do what is decided by people"
_APPROVED_BY_PEOPLE = "a bundle brings policies and workflows, which people approve"
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
    "looseleaf/install-bundle": _APPROVED_BY_PEOPLE,
    "looseleaf/upgrade-bundle": _APPROVED_BY_PEOPLE,
    "looseleaf/inspect-bundle": "an archive in base64 is nothing that a model reads",
    "looseleaf/plan-bundle": "an archive in base64 is nothing that a model reads",
    "looseleaf/rebase-bundle": "an archive in base64 is nothing that a model reads",
    "looseleaf/show-bundle-status": "an archive in base64 is nothing that a model reads",
    "looseleaf/list-pending-upgrades": _APPROVED_BY_PEOPLE,
    "looseleaf/show-pending-upgrade": _APPROVED_BY_PEOPLE,
    "looseleaf/approve-upgrade": _APPROVED_BY_PEOPLE,
    "looseleaf/reject-upgrade": _APPROVED_BY_PEOPLE,
    "looseleaf/preview-bundle": "what leaves the workspace is a person's decision",
    "looseleaf/export-bundle": "what leaves the workspace is a person's decision",
    "looseleaf/delete-agent": "what is gone for good is a person's decision",
    "looseleaf/show-gate-address": "a model must not open the gate that it waits at",
    "looseleaf/open-gate": "a model must not open the gate that it waits at",
    "looseleaf/preview-agent-config": "policies are chosen by people",
}
_OURS = ("datamachine", "looseleaf")
_SCOPE = ("agent", "user")


@value(kw_only=True)
class Variant:
    """One of several tools that an operation becomes, each with its own consequences.

    `defaults` opens a fixed argument to the model: the call that it makes without one.
    `descriptions` says what an argument is for this tool alone.
    """

    name: str
    summary: str
    fixed_arguments: Mapping[str, str]
    hidden_arguments: tuple[str, ...] = ()
    destructive: bool = False
    idempotent: bool = False
    defaults: Mapping[str, str] = FrozenDict()
    descriptions: Mapping[str, str] = FrozenDict()


# Appending loses nothing, and replacing may: clients ask a person only before a replacement.
VARIANTS = {
    "datamachine/update-agent-memory": (
        Variant(
            name="append_agent_memory",
            summary="Add lines to the end of one section of a page, or add the section; nothing is "
            "lost.",
            fixed_arguments={"mode": "append"},
            hidden_arguments=("if_match", "allow_shrink"),
            descriptions={"content": "The Markdown lines to add, without the section's header."},
        ),
        Variant(
            name="update_agent_memory",
            summary="Replace the text of one section of a page; the old text stays in the history.",
            fixed_arguments={"mode": "set"},
            destructive=True,
            idempotent=True,
            descriptions={"content": "The whole new Markdown of the section, without its header."},
        ),
    ),
    "datamachine/daily-memory-write": (
        Variant(
            name="daily_memory_append",
            summary="Add lines to one day of the journal; without a date, today in UTC.",
            fixed_arguments={"mode": "append"},
            hidden_arguments=("if_match", "allow_shrink"),
            descriptions={"content": "The Markdown lines to add to the day."},
        ),
        # Agents know this name as the ability that appends unless the call says otherwise.
        Variant(
            name="daily_memory_write",
            summary="Add lines to one day of the journal; with mode write, replace the day, whose "
            "old text stays in the history.",
            fixed_arguments={"mode": "write"},
            destructive=True,
            defaults={"mode": "append"},
        ),
    ),
}


@value(kw_only=True)
class OperationTool:
    """One tool: an operation with its fixed and hidden arguments, and with defaults."""

    name: str
    operation: Operation
    summary: str
    fixed_arguments: Mapping[str, str]  # by which policies and rights judge the tool
    hidden_arguments: tuple[str, ...]
    destructive: bool
    idempotent: bool
    defaults: Mapping[str, str]  # that the operation needs and a model may leave out
    descriptions: Mapping[str, str] = FrozenDict()  # of arguments, instead of the operation's

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories by which tool policies may name the tool."""
        return self.operation.categories

    @built_once
    def implied_arguments(self) -> dict[str, str]:
        """The fixed arguments that no call may change."""
        return {
            name: text for name, text in self.fixed_arguments.items() if name not in self.defaults
        }

    @property
    def writes_journal(self) -> bool:
        """Whether it changes the daily journal, which may be closed to agents."""
        return writes_journal(self.operation)

    def parameters(self, *, is_scoped: bool) -> dict[str, Any]:
        """Return the JSON schema of its arguments; callers share it and must not change it.

        `is_scoped` leaves no choice of agent and user.
        """
        return self._scoped_parameters if is_scoped else self._open_parameters

    @built_once
    def _scoped_parameters(self) -> dict[str, Any]:
        return self._build_parameters(is_scoped=True)

    @built_once
    def _open_parameters(self) -> dict[str, Any]:
        return self._build_parameters(is_scoped=False)

    def _build_parameters(self, *, is_scoped: bool) -> dict[str, Any]:
        hidden_names = {
            *self.implied_arguments,
            *self.hidden_arguments,
            *(_SCOPE if is_scoped else ()),
        }
        shape = _without(build_input_schema(self.operation), hidden_names)
        required = [name for name in shape["required"] if name not in self.defaults]
        properties = {
            name: _drop_null(property_schema) if name in required else property_schema
            for name, property_schema in shape["properties"].items()
        }
        if takes_origin(self.operation):
            properties[ORIGIN] = ORIGIN_SCHEMA
        for name, default in self.defaults.items():
            properties[name] = {**properties[name], "default": default}
        for name, description in self.descriptions.items():
            properties[name] = {**properties[name], "description": description}
        return {**shape, "properties": properties, "required": required}


def writes_journal(operation: Operation) -> bool:
    """Return whether an operation changes the daily journal."""
    return "daily" in operation.categories and not operation.read_only


def find_tool_refusal(operation: Operation) -> str | None:
    """Return why an operation is not offered to models, or None if it is."""
    return NOT_OFFERED.get(operation.name) or _NOT_FOR_MODELS.get(operation.permission)


def tools_of(operation: Operation) -> tuple[OperationTool, ...]:
    """Return the tools that an operation becomes: one, or one for each consequence, or none."""
    if find_tool_refusal(operation):
        return ()
    variants = VARIANTS.get(operation.name)
    if variants is None:
        tool = OperationTool(
            name=format_tool_name(operation.name),
            operation=operation,
            summary=operation.summary,
            fixed_arguments={},
            hidden_arguments=(),
            destructive=operation.destructive,
            idempotent=operation.idempotent,
            defaults=DEFAULTS.get(operation.name, {}),
        )
        return (tool,)
    return tuple(
        OperationTool(
            name=variant.name,
            operation=operation,
            summary=variant.summary,
            fixed_arguments=variant.fixed_arguments,
            hidden_arguments=variant.hidden_arguments,
            destructive=variant.destructive,
            idempotent=variant.idempotent,
            defaults=variant.defaults,
            descriptions=variant.descriptions,
        )
        for variant in variants
    )


def format_tool_name(operation: str) -> str:
    """Return the name of an operation as every client takes it: letters, digits and underscores."""
    owner, slash, name = operation.partition("/")
    plain = name if slash and owner in _OURS else operation
    return plain.replace("/", "_").replace("-", "_")


def list_operation_tools(context: Context, *, full: bool = True) -> tuple[OperationTool, ...]:
    """List the tools of a workspace, plugins' too, by name; or the few for everyday use."""
    return context.parts.operations().derive(_list_all_tools) if full else list_small_tools()


def list_small_tools() -> tuple[OperationTool, ...]:
    """List the few tools for everyday use, which are the same in every workspace."""
    by_name = {
        tool.name: tool for operation in list(CATALOG.values()) for tool in tools_of(operation)
    }
    return tuple(_without_choice(by_name[name]) for name in SMALL)


def _list_all_tools(operations: OperationList) -> tuple[OperationTool, ...]:
    by_name = {tool.name: tool for operation in operations.all() for tool in tools_of(operation)}
    return tuple(by_name[name] for name in sorted(by_name))


def _without_choice(tool: OperationTool) -> OperationTool:
    """Return a tool as the small set has it."""
    properties = build_input_schema(tool.operation)["properties"]
    if tool.name in _BRIEF:
        summary, texts = _BRIEF[tool.name]
        # Agent and user are for a server of several agents, and nothing that one agent may choose.
        hidden_names = tuple(name for name in properties if name not in (*texts, *_SCOPE))
        tool = replace(tool, summary=summary, descriptions=texts)
    else:
        hidden_names = tuple(name for name in _NOT_IN_SMALL if name in properties)
    return replace(tool, hidden_arguments=(*tool.hidden_arguments, *hidden_names))


def pick_tool(tools: Iterable[OperationTool], name: str) -> OperationTool:
    """Find a tool by its name or by that of its operation, or raise `ToolMissing`."""
    by_name = {tool.name: tool for tool in tools}
    tool = by_name.get(name) or by_name.get(format_tool_name(name))
    if tool is None:
        raise ToolMissing(name, tuple(by_name))
    return tool


def _drop_null(shape: dict[str, Any]) -> dict[str, Any]:
    """Remove null from the types of an argument: a required argument is never null."""
    options = [option for option in shape.get("anyOf", ()) if option["type"] != "null"]
    if not options:
        return shape
    annotations = {name: keyword for name, keyword in shape.items() if name != "anyOf"}
    return {**(options[0] if len(options) == 1 else {"anyOf": options}), **annotations}


def _without(shape: dict[str, Any], hidden_names: set[str]) -> dict[str, Any]:
    """Remove properties from a schema, at every depth."""
    parts = {
        name: property_schema
        for name, property_schema in shape.get("properties", {}).items()
        if name not in hidden_names
    }
    properties = {
        name: _without(property_schema, hidden_names & set(_SCOPE))
        for name, property_schema in parts.items()
    }
    narrow_shape = {**shape, "properties": properties} if "properties" in shape else dict(shape)
    if "required" in shape:
        narrow_shape["required"] = [name for name in shape["required"] if name not in hidden_names]
    return narrow_shape


# The result of a tool for a model: one JSON object, bounded, with its schema.


MOST_CHARACTERS = 100_000  # of one text in a result, so that it fits into a context window
RESULT = "result"  # the name of a result that is no object
_VERSIONS = ("hash", "previous")  # the fields of a result that name versions of a page
# The additional fields of a result whose text was cut.
_EXCERPT_FIELDS: Schema = {
    "truncated": {"type": "boolean"},
    "content_length": {"type": "integer"},
    "hint": {"type": "string"},
}


def cut_long_text(result: Any) -> Any:  # noqa: ANN401 - any JSON
    """Cut a text that would fill a model's context, and say so."""
    if not isinstance(result, dict) or len(str(result.get("content", ""))) <= MOST_CHARACTERS:
        return result
    text = result["content"]
    excerpt = {"content": text[:MOST_CHARACTERS], "truncated": True, "content_length": len(text)}
    return {**result, **excerpt, "hint": "Read one section of it, or search in it."}


def shorten_versions(result: Any) -> Any:  # noqa: ANN401 - any JSON
    """Shorten the versions that a change names, which a model copies digit by digit if at all.

    The short id may stand in `if_match`; a read of the page and its history have the whole one.
    """
    if not isinstance(result, dict):
        return result
    return {
        name: shorten_version(field) if name in _VERSIONS and isinstance(field, str) else field
        for name, field in result.items()
    }


def wrap_result(operation: Operation, result: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """Return a result as an object, in the form of the operation's output schema."""
    if _is_object(build_result_schema(operation)):
        content: dict[str, Any] = result
        return content
    return {RESULT: result}


def build_output_schema(operation: Operation) -> Schema:
    """Return the JSON schema of the object that a tool of an operation gives."""
    shape = build_result_schema(operation)
    if not _is_object(shape):
        return {
            "type": "object",
            "properties": {RESULT: shape},
            "required": [RESULT],
            "additionalProperties": False,
        }
    if "anyOf" in shape:
        return {
            "type": "object",
            "anyOf": [_add_excerpt_fields(option) for option in shape["anyOf"]],
        }
    return _add_excerpt_fields(shape)


def _is_object(shape: Schema) -> bool:
    return all(option.get("type") == "object" for option in shape.get("anyOf", [shape]))


def _add_excerpt_fields(shape: Schema) -> Schema:
    """Add the fields of a text that was cut, if there is a text."""
    properties = shape.get("properties", {})
    if properties.get("content") != {"type": "string"}:
        return shape
    return {**shape, "properties": {**_EXCERPT_FIELDS, **properties}}
