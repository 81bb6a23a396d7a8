"""The prompt `start-session`: the memory that an agent gets at the beginning of a session."""

from __future__ import annotations

from looseleaf.catalog.dispatch import invoke
from looseleaf.errors import InvalidArgument
from looseleaf.mcp_server.tool_results import build_text_part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.catalog.context import Context

PROMPT: dict[str, Any] = {
    "name": "start-session",
    "title": "Start a session",
    "description": "Who you are, whom you work for and what you know: the pages of your memory.",
    "arguments": [
        {"name": "mode", "description": "chat (the default), pipeline or system."},
        {"name": "agent", "description": "The agent, where the server is for several."},
    ],
}


def start_session(context: Context, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Compose the prompt of an agent for a mode; MCP has no system messages."""
    for name in set(arguments) - {"mode", "agent"}:
        raise InvalidArgument(name, "start-session takes mode and agent")
    bound_agent = context.principal.agent_id
    agent = bound_agent or arguments.get("agent") or None
    options = {"mode": arguments.get("mode") or "chat", **({"agent": agent} if agent else {})}
    prompt = invoke(context, "looseleaf/compose-prompt", options)
    messages = [
        {"role": "user", "content": build_text_part(message["content"])}
        for message in prompt["messages"]
    ]
    description = f"The memory of {prompt['agent']} for {prompt['mode']}."
    return {"description": description, "messages": messages}
