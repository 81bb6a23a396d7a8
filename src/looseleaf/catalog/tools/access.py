"""Which tools an agent may use: one decision and one list, which every surface asks for.

A tool is given if the agent's policy allows it and the person for whom the agent acts may use
it. Chat, MCP, the export of tools, prompts, their explanation and the abilities of the REST server
call the functions of this module and read no tool policy themselves.
"""

from __future__ import annotations

from looseleaf.catalog.resolution import find_acting_agent, find_operation
from looseleaf.catalog.schemas.arguments import build_input_schema
from looseleaf.catalog.tools.memory_tools import MODEL_TOOLS, ModelTool
from looseleaf.catalog.tools.model_rights import SYSTEM, CallRights, ModelRights
from looseleaf.catalog.tools.operation_tools import (
    VARIANTS,
    format_tool_name,
    list_operation_tools,
    tools_of,
    writes_journal,
)
from looseleaf.errors.operations import ToolDenied
from looseleaf.files.folders import casefold_name
from looseleaf.memory.policy import decide_tool, parse_tool_policy
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import Operation
    from looseleaf.catalog.tools.operation_tools import OperationTool
    from looseleaf.memory.policy import PolicyDecision
    from looseleaf.prompt.request import Request, Tool

    Tools = tuple[ModelTool | OperationTool, ...]


# Operations that read, or write, the same text: a policy that names one of them means all.
_EQUIVALENTS = {
    name: group
    for group in (
        ("datamachine/get-agent-memory", "datamachine/get-agent-file"),
        ("datamachine/write-agent-file", "datamachine/upload-agent-file"),
    )
    for name in group
}
# For each operation, the actions that run it: the name of their tool, and what they fix.
_ACTIONS: dict[str, list[tuple[str, Mapping[str, str]]]] = {}
for _tool in MODEL_TOOLS.values():
    for _action in _tool.actions.values():
        _ACTIONS.setdefault(_action.operation, []).append((_tool.name, _action.fixed_arguments))
GIVEN = "given"
DENIED = "policy_deny"
MODE = "mode"
RIGHTS = "rights"  # of the person for whom the agent acts
NOT_NAMED = "no allow list names it"
JOURNAL_CLOSED = "daily_memory_disabled"


@value
class ToolChoice:
    """One tool that was considered for an agent: given, or left out by a rule."""

    tool: ModelTool | OperationTool
    rule: str
    actions: tuple[str, ...] = ()  # of a tool with actions, those that the policy leaves

    @property
    def name(self) -> str:
        """The name by which a model calls it."""
        return self.tool.name

    @property
    def is_given(self) -> bool:
        """Whether the agent has it."""
        return self.rule == GIVEN


def choose_all_tools(context: Context, agent: AgentRecord | None) -> tuple[ToolChoice, ...]:
    """Decide about every tool there is; without an agent, all are given."""
    tools: Tools = (*MODEL_TOOLS.values(), *list_operation_tools(context))
    return tuple(choose_tool(context, agent, tool) for tool in tools)


def choose_listed_tools(
    context: Context, agent: AgentRecord | None, tools: Iterable[OperationTool]
) -> tuple[ToolChoice, ...]:
    """Decide about the tools of a server by their equivalents: it has no tools with actions.

    Tools that a closed journal would refuse are left out, and tools that a credential bound
    to an agent may never use.
    """
    principal, journal = context.principal, context.settings.daily_memory_enabled
    rights = CallRights(principal, agent, principal.user_id) if agent is not None else None
    return tuple(_choose_listed(agent, rights, tool, journal=journal) for tool in tools)


def _choose_listed(
    agent: AgentRecord | None, rights: CallRights | None, tool: OperationTool, *, journal: bool
) -> ToolChoice:
    choice = _choose_operation(agent, tool)
    if not choice.is_given:
        return choice
    if tool.writes_journal and not journal:
        return ToolChoice(tool, JOURNAL_CLOSED)
    is_allowed = rights is None or rights.allow(tool.operation, tool.fixed_arguments)
    return choice if is_allowed else ToolChoice(tool, RIGHTS)


def choose_chat_tools(
    context: Context, request: Request, *, journal: bool = True
) -> tuple[ToolChoice, ...]:
    """Decide about the tools of a conversation: memory, journal, and what an allow list names.

    Of these the model is offered what the person, or the user of a job, may use. The system's own
    tasks get none: they are told what to do with memory. If the journal is closed to agents
    (`journal` is false), nothing that changes it is offered.
    """
    # Without an allow list no operation is named, and a turn need not look through all of them.
    allows = request.agent.configuration.tool_policy.mode == "allow"
    candidates = list_operation_tools(context) if allows or request.tool_allow_only else ()
    allowed_tools = [tool for tool in candidates if is_named(request, tool)]
    tools: Tools = (*MODEL_TOOLS.values(), *allowed_tools)
    rights = ModelRights(context, request)
    choices = (_choose_in_request(context, rights, tool, request) for tool in tools)
    return tuple(choice if journal else _without_journal(context, choice) for choice in choices)


def _choose_in_request(
    context: Context, rights: ModelRights, tool: ModelTool | OperationTool, request: Request
) -> ToolChoice:
    """Decide about one tool by the policy of the agent, and then by the rights of the person."""
    choice = choose_tool(context, request.agent, tool, request)
    if not choice.is_given:
        return choice
    if not isinstance(tool, ModelTool):
        is_in_policy = is_in_allow_list(request.agent, tool)
        is_allowed = rights.allow(tool.operation, tool.fixed_arguments, is_in_policy=is_in_policy)
        return choice if is_allowed else ToolChoice(tool, RIGHTS)
    actions = tuple(
        name
        for name in choice.actions
        if rights.allow(
            find_operation(context, tool.actions[name].operation),
            tool.actions[name].fixed_arguments,
            is_in_policy=False,
        )
    )
    return ToolChoice(tool, GIVEN if actions else RIGHTS, actions)


def _without_journal(context: Context, choice: ToolChoice) -> ToolChoice:
    """Remove what changes the journal from a choice."""
    tool = choice.tool
    if not choice.is_given:
        return choice
    if not isinstance(tool, ModelTool):
        return ToolChoice(tool, JOURNAL_CLOSED) if tool.writes_journal else choice
    actions = tuple(
        name
        for name in choice.actions
        if not writes_journal(find_operation(context, tool.actions[name].operation))
    )
    return ToolChoice(tool, GIVEN if actions else JOURNAL_CLOSED, actions)


def choose_tool(
    context: Context,
    agent: AgentRecord | None,
    tool: ModelTool | OperationTool,
    request: Request | None = None,
) -> ToolChoice:
    """Decide by policy about one tool, if tools with actions are offered under their own names.

    The request of a conversation may narrow the tools once more.
    """
    decision = decide_agent_tool(agent, tool.name, tool.categories, request)
    if not decision.allowed:
        return ToolChoice(tool, decision.rule)
    if request is not None and request.mode == SYSTEM:
        return ToolChoice(tool, MODE)
    if not isinstance(tool, ModelTool):
        is_unasked = request is not None and not is_named(request, tool)
        return ToolChoice(tool, NOT_NAMED) if is_unasked else _choose_operation(agent, tool)
    actions = tuple(tool.actions)
    if agent is not None and agent.configuration.has_tool_policy:
        actions = tuple(
            name
            for name, action in tool.actions.items()
            if not denies_operation(agent, find_operation(context, action.operation))
        )
    return ToolChoice(tool, GIVEN if actions else DENIED, actions)


def _choose_operation(agent: AgentRecord | None, tool: OperationTool) -> ToolChoice:
    decision = decide_operation_tool(agent, tool.operation, tool.name)
    return ToolChoice(tool, GIVEN if decision.allowed else decision.rule)


def is_named(request: Request, tool: OperationTool) -> bool:
    """Return whether an allow list names an operation's tool; without a list, none is offered."""
    names = map(casefold_name, request.tool_allow_only or ())
    return casefold_name(tool.name) in names or is_in_allow_list(request.agent, tool)


def is_in_allow_list(agent: AgentRecord, tool: OperationTool) -> bool:
    """Return whether the allow list of an agent's own policy names a tool or its category."""
    policy = agent.configuration.tool_policy
    if policy.mode != "allow":
        return False
    return casefold_name(tool.name) in map(casefold_name, policy.tools) or any(
        casefold_name(category) in policy.category_keys for category in tool.categories
    )


def list_equivalent_names(operation: Operation, name: str) -> tuple[str, ...]:
    """Name the tools that do what a tool of an operation does, itself first."""
    group = _EQUIVALENTS.get(operation.name, ())
    group_names = tuple(map(format_tool_name, group))
    equivalents = group_names if name in group_names else ()
    composite = [
        tool
        for operation_name in (group if equivalents else (operation.name,))
        for tool, fixed_arguments in _ACTIONS.get(operation_name, ())
        if _is_same(fixed_arguments, operation, name)
    ]
    return tuple(dict.fromkeys((name, *equivalents, *composite)))


def _is_same(fixed_arguments: Mapping[str, str], operation: Operation, name: str) -> bool:
    """Return whether an action may do what a tool of the same operation does."""
    variants = VARIANTS.get(operation.name, ())
    tool_arguments = next((tool.fixed_arguments for tool in variants if tool.name == name), {})
    return all(tool_arguments.get(key, text) == text for key, text in fixed_arguments.items())


def decide_operation_tool(
    agent: AgentRecord | None, operation: Operation, name: str
) -> PolicyDecision:
    """Decide about one tool of an operation by an agent's policy, the same on every surface.

    A policy that denies a tool denies its equivalents; one that allows a tool allows them.
    """
    own_decision = decide_agent_tool(agent, name, operation.categories)
    if agent is None or not agent.configuration.has_tool_policy:
        return own_decision
    allows = agent.configuration.tool_policy.mode == "allow"
    if own_decision.allowed is allows:
        return own_decision
    for equivalent in list_equivalent_names(operation, name)[1:]:
        decision = decide_agent_tool(agent, equivalent, operation.categories)
        if decision.allowed is allows:
            return decision
    return own_decision


def decide_agent_tool(
    agent: AgentRecord | None,
    name: str,
    categories: tuple[str, ...],
    request: Request | None = None,
) -> PolicyDecision:
    """Decide about one tool by an agent's policy, and by what a request denies or allows."""
    policy = agent.configuration.tool_policy if agent is not None else parse_tool_policy(None)
    deny, allow_only = (request.tool_deny, request.tool_allow_only) if request else ((), None)
    return decide_tool(name, categories, policy=policy, deny=deny, allow_only=allow_only)


def decide_request_tools(request: Request) -> tuple[tuple[Tool, PolicyDecision], ...]:
    """Decide about the tools that a program brings with a request, for the prompt to list them."""
    return tuple(
        (tool, decide_agent_tool(request.agent, tool.name, tool.categories, request))
        for tool in request.tools
    )


def require_tool(context: Context, operation: Operation, name: str) -> None:
    """Raise `ToolDenied` if the policy of the agent that acts takes a tool away."""
    decision = decide_operation_tool(find_acting_agent(context), operation, name)
    if not decision.allowed:
        raise ToolDenied(name, decision.rule)


def offers_operation(context: Context, operation: Operation) -> bool:
    """Return whether the policy of the agent that acts leaves any tool of an operation."""
    return _allows_any_tool(find_acting_agent(context), operation)


def require_operation(
    context: Context, operation: Operation, operation_arguments: Mapping[str, Any]
) -> None:
    """Raise `ToolDenied` if the policy denies the tool that these arguments amount to.

    An operation may be several tools, one for each `mode`: denying the tool that replaces text
    leaves the tool that appends.
    """
    agent = find_acting_agent(context)
    if agent is None or not agent.configuration.has_tool_policy:
        return
    properties = build_input_schema(operation)["properties"]
    for name, fixed_arguments in _list_tools(operation):
        actual = {
            key: operation_arguments.get(key, properties[key].get("default"))
            for key in fixed_arguments
        }
        if all(actual[key] in (text, None) for key, text in fixed_arguments.items()):
            require_tool(context, operation, name)


def denies_operation(agent: AgentRecord, operation: Operation) -> bool:
    """Return whether an agent's policy denies an operation by name or category.

    A tool with several actions leaves out the denied actions. An allow list names
    tools, and a tool that it names has all of its actions.
    """
    is_deny_list = agent.configuration.tool_policy.mode == "deny"
    return is_deny_list and not _allows_any_tool(agent, operation)


def _allows_any_tool(agent: AgentRecord | None, operation: Operation) -> bool:
    names = (name for name, _ in _list_tools(operation))
    return any(decide_operation_tool(agent, operation, name).allowed for name in names)


def _list_tools(operation: Operation) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Name the tools of an operation; an operation without tools counts under its own name."""
    tools = tools_of(operation)
    for tool in tools:
        yield tool.name, tool.fixed_arguments
    if not tools:
        yield format_tool_name(operation.name), {}
