"""Every tool as providers declare tools: OpenAI, Anthropic, or plain JSON schema."""

from __future__ import annotations

import json

from looseleaf.errors import Invalid
from looseleaf.operations.memory_tools import MODEL_TOOLS
from looseleaf.operations.model_tools import declare_model_tool
from looseleaf.operations.tool_access import decide_agent_tool
from looseleaf.operations.tools import operation_tools
from looseleaf.prompt.request import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.operations.context import Context

FORMATS = ("json", "openai", "anthropic")


def all_tools(context: Context, agent: AgentRecord | None = None) -> tuple[Tool, ...]:
    """List every tool there is; of an agent, those its policy allows, without a choice of whose."""
    declared = (declare_model_tool(context, one, agent) for one in MODEL_TOOLS.values())
    found = [tool for tool in declared if tool is not None]
    for tool in operation_tools(context):
        parameters = json.dumps(tool.parameters(scoped=agent is not None))
        found.append(Tool(tool.name, tool.summary, parameters, tool.categories))
    return tuple(
        tool for tool in found if decide_agent_tool(agent, tool.name, tool.categories).allowed
    )


def declared(tools: Iterable[Tool], format: str) -> list[dict[str, Any]]:  # noqa: A002
    """Give tools as a provider takes them."""
    if format not in FORMATS:
        raise Invalid(f"There is no format {format!r}; there are {', '.join(FORMATS)}.")
    return [_declared(tool, format) for tool in tools]


def _declared(tool: Tool, format: str) -> dict[str, Any]:  # noqa: A002
    about = {"name": tool.name, "description": tool.description}
    if format == "anthropic":
        return {**about, "input_schema": tool.schema}
    if format == "openai":
        return {"type": "function", "function": {**about, "parameters": tool.schema}}
    return {**about, "parameters": tool.schema}
