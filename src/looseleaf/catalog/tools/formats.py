"""Every tool as providers declare tools: OpenAI, Anthropic, or plain JSON schema."""

from __future__ import annotations

from looseleaf.catalog.tools.access import choose_all_tools
from looseleaf.catalog.tools.model_tools import declare_tool
from looseleaf.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.prompt.request import Tool

FORMATS = ("json", "openai", "anthropic")


def list_all_tools(context: Context, agent: AgentRecord | None = None) -> tuple[Tool, ...]:
    """List all tools; for an agent, those that its policy allows, with agent and user fixed."""
    choices = choose_all_tools(context, agent)
    return tuple(
        declare_tool(choice, is_scoped=agent is not None) for choice in choices if choice.is_given
    )


def declare_tools(tools: Iterable[Tool], format: str) -> list[dict[str, Any]]:  # noqa: A002
    """Return tools as a provider takes them."""
    if format not in FORMATS:
        raise Invalid(f"There is no format {format!r}. Available formats: {', '.join(FORMATS)}.")
    return [_format_tool(tool, format) for tool in tools]


def _format_tool(tool: Tool, format: str) -> dict[str, Any]:  # noqa: A002
    header = {"name": tool.name, "description": tool.description}
    if format == "anthropic":
        return {**header, "input_schema": tool.schema}
    if format == "openai":
        return {"type": "function", "function": {**header, "parameters": tool.schema}}
    return {**header, "parameters": tool.schema}
