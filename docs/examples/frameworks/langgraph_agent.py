"""An agent of LangGraph that remembers: each argument is a session of its own."""

import asyncio
import os
import sys

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI

from looseleaf import Workspace

ROOT = os.environ["LOOSELEAF_ROOT"]
MODEL = os.environ.get("MODEL", "gpt-5-mini")


async def talk(message: str) -> str:
    """Hold one session: memory in the system prompt, memory tools over MCP."""
    command = {"command": sys.executable, "args": ["-m", "looseleaf", "mcp", "--root", ROOT]}
    memory = MultiServerMCPClient({"memory": {"transport": "stdio", **command}})
    agent = create_agent(
        ChatOpenAI(model=MODEL),
        tools=await memory.get_tools(),
        system_prompt=Workspace.open(ROOT).compose("chat").text,
    )
    state = await agent.ainvoke({"messages": [("user", message)]})
    return state["messages"][-1].text


async def main() -> None:
    for words in sys.argv[1:]:
        print(await talk(words))


if __name__ == "__main__":
    asyncio.run(main())
