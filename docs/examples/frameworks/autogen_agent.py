"""An agent of AutoGen that remembers: each argument is a session of its own."""

import asyncio
import os
import sys

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams

from looseleaf import Workspace

ROOT = os.environ["LOOSELEAF_ROOT"]
MODEL = os.environ.get("MODEL", "gpt-4o-mini")
ABLE = {
    "family": "unknown",
    "function_calling": True,
    "json_output": True,
    "structured_output": True,
    "vision": False,
}


async def talk(message: str) -> str:
    """Hold one session: memory in the system message, memory tools over MCP."""
    command = StdioServerParams(
        command=sys.executable, args=["-m", "looseleaf", "mcp", "--root", ROOT]
    )
    async with McpWorkbench(command) as memory:
        agent = AssistantAgent(
            "ada",
            OpenAIChatCompletionClient(model=MODEL, model_info=ABLE),
            workbench=memory,
            system_message=Workspace.open(ROOT).compose("chat").text,
            max_tool_iterations=10,
        )
        result = await agent.run(task=message)
    return result.messages[-1].to_text()


async def main() -> None:
    for words in sys.argv[1:]:
        print(await talk(words))


if __name__ == "__main__":
    asyncio.run(main())
