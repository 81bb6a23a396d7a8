"""An agent of Google ADK that remembers: each argument is a session of its own."""

import asyncio
import os
import sys

from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams
from mcp import StdioServerParameters

from looseleaf import Workspace

ROOT = os.environ["LOOSELEAF_ROOT"]
MODEL = os.environ.get("MODEL", "gemini-2.5-flash")


async def talk(message: str) -> str:
    """Hold one session: memory in the instruction, memory tools over MCP."""
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "looseleaf", "mcp", "--root", ROOT]
    )
    memory = McpToolset(connection_params=StdioConnectionParams(server_params=command, timeout=60))
    text = Workspace.open(ROOT).compose("chat").text
    # A function, since ADK would take {braces} in a plain text for its own variables.
    agent = LlmAgent(name="ada", model=MODEL, instruction=lambda _context: text, tools=[memory])
    events = await InMemoryRunner(agent, app_name="memory").run_debug(message, quiet=True)
    await memory.close()
    parts = events[-1].content.parts if events[-1].content else []
    return "".join(part.text or "" for part in parts)


async def main() -> None:
    for words in sys.argv[1:]:
        print(await talk(words))


if __name__ == "__main__":
    asyncio.run(main())
