"""An agent of DSPy that remembers: each argument is a session of its own."""

import asyncio
import os
import sys

import dspy
from mcp import ClientSession, StdioServerParameters, stdio_client

from looseleaf import Workspace

ROOT = os.environ["LOOSELEAF_ROOT"]
MODEL = os.environ.get("MODEL", "gpt-5-mini")


async def talk(message: str) -> str:
    """Hold one session: memory in the instructions, memory tools over MCP."""
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "looseleaf", "mcp", "--root", ROOT]
    )
    memory = Workspace.open(ROOT).compose("chat").text
    async with stdio_client(command) as streams, ClientSession(*streams) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        agent = dspy.ReAct(
            dspy.Signature("message -> answer", memory),
            tools=[dspy.Tool.from_mcp_tool(session, tool) for tool in tools],
        )
        result = await agent.acall(message=message)
    return result.answer


async def main() -> None:
    dspy.configure(lm=dspy.LM(f"openai/{MODEL}", cache=False))
    for words in sys.argv[1:]:
        print(await talk(words))


if __name__ == "__main__":
    asyncio.run(main())
