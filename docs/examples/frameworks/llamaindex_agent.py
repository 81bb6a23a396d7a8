"""An agent of LlamaIndex that remembers: each argument is a session of its own."""

import asyncio
import os
import sys

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

from looseleaf import Workspace

ROOT = os.environ["LOOSELEAF_ROOT"]
MODEL = os.environ.get("MODEL", "gpt-5-mini")


async def talk(message: str) -> str:
    """Hold one session: memory in the system prompt, memory tools over MCP."""
    memory = BasicMCPClient(sys.executable, args=["-m", "looseleaf", "mcp", "--root", ROOT])
    agent = FunctionAgent(
        tools=await McpToolSpec(client=memory).to_tool_list_async(),
        llm=OpenAILike(
            model=MODEL,
            api_base=os.environ["OPENAI_BASE_URL"],
            api_key=os.environ["OPENAI_API_KEY"],
            is_chat_model=True,
            is_function_calling_model=True,
        ),
        system_prompt=Workspace.open(ROOT).compose("chat").text,
    )
    return str(await agent.run(message))


async def main() -> None:
    for words in sys.argv[1:]:
        print(await talk(words))


if __name__ == "__main__":
    asyncio.run(main())
