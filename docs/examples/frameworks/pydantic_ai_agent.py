"""An agent of pydantic-ai that remembers: each argument is a session of its own."""

import asyncio
import os
import sys

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel

from looseleaf import Workspace

ROOT = os.environ["LOOSELEAF_ROOT"]
MODEL = os.environ.get("MODEL", "gpt-5-mini")


async def talk(message: str) -> str:
    """Hold one session: memory in the instructions, memory tools over MCP."""
    command = StdioTransport(sys.executable, args=["-m", "looseleaf", "mcp", "--root", ROOT])
    agent = Agent(
        OpenAIChatModel(MODEL),
        instructions=Workspace.open(ROOT).compose("chat").text,
        toolsets=[MCPToolset(command)],
    )
    async with agent:
        result = await agent.run(message)
    return result.output


async def main() -> None:
    for words in sys.argv[1:]:
        print(await talk(words))


if __name__ == "__main__":
    asyncio.run(main())
