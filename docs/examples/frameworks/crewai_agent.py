"""A crew of CrewAI that remembers: each argument is a session of its own."""

import os
import sys

from crewai import LLM, Agent, Crew, Task
from crewai.mcp import MCPServerStdio

from looseleaf import Workspace

ROOT = os.environ["LOOSELEAF_ROOT"]
MODEL = os.environ.get("MODEL", "gpt-5-mini")


def talk(message: str) -> str:
    """Hold one session: memory in the backstory, memory tools over MCP."""
    # CrewAI names tools after the command, so a short one leaves room for what they do.
    memory = MCPServerStdio(command="looseleaf", args=["mcp"], env=dict(os.environ))
    ada = Agent(
        role="Assistant",
        goal="Help, and remember what matters",
        backstory=Workspace.open(ROOT).compose("chat").text,
        llm=LLM(model=f"openai/{MODEL}"),
        mcps=[memory],
    )
    task = Task(description=message, expected_output="An answer", agent=ada)
    return Crew(agents=[ada], tasks=[task]).kickoff().raw


if __name__ == "__main__":
    for words in sys.argv[1:]:
        print(talk(words))
