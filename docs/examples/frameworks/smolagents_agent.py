"""An agent of smolagents that remembers: each argument is a session of its own."""

import os
import sys

from mcp import StdioServerParameters
from smolagents import OpenAIServerModel, ToolCallingAgent, ToolCollection

from looseleaf import Workspace

ROOT = os.environ["LOOSELEAF_ROOT"]
MODEL = os.environ.get("MODEL", "gpt-5-mini")


def talk(message: str) -> str:
    """Hold one session: memory in the instructions, memory tools over MCP."""
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "looseleaf", "mcp", "--root", ROOT]
    )
    with ToolCollection.from_mcp(
        command, trust_remote_code=True, structured_output=False
    ) as memory:
        agent = ToolCallingAgent(
            tools=[*memory.tools],
            model=OpenAIServerModel(MODEL, api_base=os.environ.get("OPENAI_BASE_URL")),
            instructions=Workspace.open(ROOT).compose("chat").text,
            verbosity_level=0,
        )
        return str(agent.run(message))


if __name__ == "__main__":
    for words in sys.argv[1:]:
        print(talk(words))
