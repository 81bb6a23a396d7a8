"""The one prompt: everything an agent is given at the beginning of a session."""

from __future__ import annotations

from looseleaf.errors import InvalidArgument
from looseleaf.mcp_server.answers import text_part
from looseleaf.operations.door import invoke

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.operations.context import Context

PROMPT: dict[str, Any] = {
    "name": "start-session",
    "title": "Start a session",
    "description": "Who you are, whom you work for and what you know: the pages of your memory.",
    "arguments": [
        {"name": "mode", "description": "chat (if you say nothing), pipeline or system."},
        {"name": "agent", "description": "The agent, where the server is for several."},
    ],
}


def start_session(context: Context, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Compose the prompt of an agent for a mode; MCP knows no system messages."""
    for name in set(arguments) - {"mode", "agent"}:
        raise InvalidArgument(name, "start-session takes mode and agent")
    bound = context.principal.agent_id
    agent = bound or arguments.get("agent") or None
    chosen = {"mode": arguments.get("mode") or "chat", **({"agent": agent} if agent else {})}
    composed = invoke(context, "looseleaf/compose-prompt", chosen)
    messages = [
        {"role": "user", "content": text_part(one["content"])} for one in composed["messages"]
    ]
    about = f"The memory of {composed['agent']} for {composed['mode']}."
    return {"description": about, "messages": messages}
