"""An agent of the OpenAI Agents SDK that remembers: each argument is a session of its own."""

import asyncio
import os
import sys

from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio
from openai import AsyncOpenAI

from looseleaf import Workspace

ROOT = os.environ["LOOSELEAF_ROOT"]
MODEL = os.environ.get("MODEL", "gpt-5-mini")


async def talk(message: str) -> str:
    """Hold one session: memory in the instructions, memory tools over MCP."""
    command = {"command": sys.executable, "args": ["-m", "looseleaf", "mcp", "--root", ROOT]}
    async with MCPServerStdio(params=command, client_session_timeout_seconds=60) as memory:
        agent = Agent(
            name="ada",
            instructions=Workspace.open(ROOT).compose("chat").text,
            mcp_servers=[memory],
            model=OpenAIChatCompletionsModel(model=MODEL, openai_client=AsyncOpenAI()),
            model_settings=ModelSettings(include_usage=True),
        )
        result = await Runner.run(agent, message)
    return result.final_output


async def main() -> None:
    for words in sys.argv[1:]:
        print(await talk(words))


if __name__ == "__main__":
    set_tracing_disabled(True)  # it would send traces to OpenAI
    asyncio.run(main())
