"""Which tools an agent may use: one decision, which every surface asks for.

Chat, MCP, the export of tools and the abilities of the REST server call the functions of this
module and read no tool policy themselves.
"""

from __future__ import annotations

from looseleaf.errors import ToolDenied
from looseleaf.memory.policy import decide_tool, tool_policy
from looseleaf.operations.memory_tools import MODEL_TOOLS
from looseleaf.operations.schema import schema
from looseleaf.operations.tools import tool_name, tools_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.memory.policy import Decision
    from looseleaf.operations.catalog import Operation
    from looseleaf.operations.context import Context


# Tools that give the same text: a policy that names one of them means each.
_SAME_READING = ("get_agent_memory", "get_agent_file")
_READING = ("datamachine/get-agent-memory", "datamachine/get-agent-file")


def equivalent_names(operation: Operation, name: str) -> tuple[str, ...]:
    """Name the tools that do what a tool of an operation does, itself first."""
    same = _SAME_READING if name in _SAME_READING else ()
    operations = (operation.name, *(_READING if same else ()))
    composite = [
        tool.name
        for tool in MODEL_TOOLS.values()
        for action in tool.actions.values()
        if action.operation in operations and _is_same(action.fixed, operation, name)
    ]
    return tuple(dict.fromkeys((name, *same, *composite)))


def _is_same(fixed: Mapping[str, str], operation: Operation, name: str) -> bool:
    """Say whether an action may do what a tool of the same operation does."""
    own = next((tool.fixed for tool in tools_of(operation) if tool.name == name), {})
    return all(own.get(key, text) == text for key, text in fixed.items())


def decide_operation_tool(agent: AgentRecord | None, operation: Operation, name: str) -> Decision:
    """Decide about one tool of an operation by an agent's policy, whatever way it is used.

    A policy that denies a tool denies its equivalents; one that allows a tool allows them.
    """
    names = equivalent_names(operation, name)
    decisions = [decide_agent_tool(agent, one, operation.categories) for one in names]
    if agent is None:
        return decisions[0]
    allows = tool_policy(agent.config.get("tool_policy")).mode == "allow"
    return next((one for one in decisions if one.allowed is allows), decisions[0])


def decide_agent_tool(
    agent: AgentRecord | None,
    name: str,
    categories: tuple[str, ...],
    *,
    deny: Collection[str] = (),
    allow_only: Collection[str] | None = None,
) -> Decision:
    """Decide about one tool by an agent's policy and what one call denies or allows."""
    policy = tool_policy(agent.config.get("tool_policy") if agent is not None else None)
    return decide_tool(name, categories, policy=policy, deny=deny, allow_only=allow_only)


def acting_agent(context: Context) -> AgentRecord | None:
    """Find the agent through which a principal acts; None for a person or program of its own."""
    agent_id = context.principal.agent_id
    return context.agents.resolve(agent_id) if agent_id else None


def require_tool(context: Context, operation: Operation, name: str) -> None:
    """Raise `ToolDenied` where the policy of the agent that acts takes a tool away."""
    decision = decide_operation_tool(acting_agent(context), operation, name)
    if not decision.allowed:
        raise ToolDenied(name, decision.rule)


def offers_operation(context: Context, operation: Operation) -> bool:
    """Say whether the policy of the agent that acts leaves any tool of an operation."""
    agent = acting_agent(context)
    return any(
        decide_operation_tool(agent, operation, name).allowed for name, _ in _tools(operation)
    )


def require_operation(context: Context, operation: Operation, given: Mapping[str, Any]) -> None:
    """Raise `ToolDenied` where the policy denies the tool that these arguments amount to.

    An operation may be several tools, one for each `mode`: denying the tool that replaces text
    leaves the tool that appends.
    """
    agent = acting_agent(context)
    if agent is None or not agent.config.get("tool_policy"):
        return
    properties = schema(operation)["properties"]
    for name, fixed in _tools(operation):
        chosen = {key: given.get(key, properties[key].get("default")) for key in fixed}
        if all(chosen[key] in (text, None) for key, text in fixed.items()):
            require_tool(context, operation, name)


def denies_operation(agent: AgentRecord, operation: Operation) -> bool:
    """Say whether an agent's policy denies an operation by name or category.

    A tool with several actions leaves out the actions that are denied so. An allow list names
    tools, and a tool that it names has all of its actions.
    """
    policy = tool_policy(agent.config.get("tool_policy"))
    return policy.mode == "deny" and all(
        not decide_operation_tool(agent, operation, name).allowed for name, _ in _tools(operation)
    )


def _tools(operation: Operation) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Name the tools of an operation; one that models are not offered has its own name."""
    tools = tools_of(operation)
    for tool in tools:
        yield tool.name, tool.fixed
    if not tools:
        yield tool_name(operation.name), {}
