"""Which tools an agent may use: one decision, which every surface asks for.

Chat, MCP, the export of tools and the abilities of the REST server call the functions of this
module and read no tool policy themselves.
"""

from __future__ import annotations

from looseleaf.errors import ToolDenied
from looseleaf.memory.policy import decide_tool, tool_policy
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


def require_tool(context: Context, name: str, categories: tuple[str, ...]) -> None:
    """Raise `ToolDenied` where the policy of the agent that acts takes a tool away."""
    decision = decide_agent_tool(acting_agent(context), name, categories)
    if not decision.allowed:
        raise ToolDenied(name, decision.rule)


def offers_operation(context: Context, operation: Operation) -> bool:
    """Say whether the policy of the agent that acts leaves any tool of an operation."""
    agent = acting_agent(context)
    return any(
        decide_agent_tool(agent, name, operation.categories).allowed
        for name, _ in _tools(operation)
    )


def require_operation(context: Context, operation: Operation, given: Mapping[str, Any]) -> None:
    """Raise `ToolDenied` where the policy denies the tool that these arguments amount to.

    An operation may be several tools, one for each `mode`: denying the tool that replaces text
    leaves the tool that appends.
    """
    if not context.principal.agent_id:
        return
    properties = schema(operation)["properties"]
    for name, fixed in _tools(operation):
        chosen = {key: given.get(key, properties[key].get("default")) for key in fixed}
        if all(chosen[key] in (text, None) for key, text in fixed.items()):
            require_tool(context, name, operation.categories)


def denies_operation(agent: AgentRecord, operation: Operation) -> bool:
    """Say whether an agent's policy denies an operation by name or category.

    A tool with several actions leaves out the actions that are denied so. An allow list names
    tools, and a tool that it names has all of its actions.
    """
    policy = tool_policy(agent.config.get("tool_policy"))
    return policy.mode == "deny" and all(
        not decide_tool(name, operation.categories, policy=policy).allowed
        for name, _ in _tools(operation)
    )


def _tools(operation: Operation) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Name the tools of an operation; one that models are not offered has its own name."""
    tools = tools_of(operation)
    for tool in tools:
        yield tool.name, tool.fixed
    if not tools:
        yield tool_name(operation.name), {}
