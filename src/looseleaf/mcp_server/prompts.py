"""The one prompt: everything an agent is given at the beginning of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_types import GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

from looseleaf.errors import InvalidArgument
from looseleaf.operations.run import invoke

if TYPE_CHECKING:
    from collections.abc import Mapping

    from looseleaf.operations.context import Context

PROMPT = Prompt(
    name="start-session",
    title="Start a session",
    description="Who you are, whom you work for and what you know: the pages of your memory.",
    arguments=[
        PromptArgument(name="mode", description="chat (if you say nothing), pipeline or system."),
        PromptArgument(name="agent", description="The agent, where the server is for several."),
    ],
)


def start_session(context: Context, given: Mapping[str, str]) -> GetPromptResult:
    """Compose the prompt of an agent for a mode; MCP knows no system messages."""
    for name in set(given) - {"mode", "agent"}:
        raise InvalidArgument(name, "start-session takes mode and agent")
    bound = context.principal.agent_id
    agent = bound or given.get("agent") or None
    chosen = {"mode": given.get("mode") or "chat", **({"agent": agent} if agent else {})}
    composed = invoke(context, "looseleaf/compose-prompt", chosen)
    messages = [
        PromptMessage(role="user", content=TextContent(text=one["content"]))
        for one in composed["messages"]
    ]
    about = f"The memory of {composed['agent']} for {composed['mode']}."
    return GetPromptResult(description=about, messages=messages)
