"""The memory of one agent for programs of asyncio: each call runs in a thread."""

from __future__ import annotations

from asyncio import to_thread

from looseleaf import agent_memory
from looseleaf.memory.pages import FACTS, MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

    from looseleaf.agent_memory import AgentMemory, Provider
    from looseleaf.memory.pages import Saved
    from looseleaf.memory.search.results import PageHit
    from looseleaf.operations.recent import RecentChange


async def open(  # noqa: A001 - as in `looseleaf`
    root: str | os.PathLike[str] | None = None,
    *,
    agent: str = "",
    actor: str = "",
    create: bool = False,
    attended: bool = False,
) -> AsyncAgentMemory:
    """Open the memory of an agent, as `looseleaf.open` does."""
    options = {"agent": agent, "actor": actor, "create": create, "attended": attended}
    return AsyncAgentMemory(await to_thread(agent_memory.open, root, **options))  # type: ignore[arg-type]


class AsyncAgentMemory:
    """The methods of `AgentMemory`, each awaited."""

    def __init__(self, memory: AgentMemory) -> None:
        self.memory = memory

    async def __aenter__(self) -> AsyncAgentMemory:
        return self

    async def __aexit__(self, *_outcome: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every folder, file and connection of the workspace."""
        await to_thread(self.memory.close)

    async def remember(self, text: str, *, section: str = FACTS, file: str = MAIN) -> Saved:
        """Add lines to a section of a page; a plain line becomes an item of its list."""
        return await to_thread(self.memory.remember, text, section=section, file=file)

    async def read(self, file: str = MAIN, *, section: str | None = None) -> str:
        """Read a page, or one section of it."""
        return await to_thread(self.memory.read, file, section=section)

    async def search(self, words: str, *, limit: int = 10) -> tuple[PageHit, ...]:
        """Find the pages that are about some words, best first, each with its best lines."""
        return await to_thread(self.memory.search, words, limit=limit)

    async def recent(
        self, since: str = "yesterday", *, limit: int = 20
    ) -> tuple[RecentChange, ...]:
        """List what was learned lately, newest first."""
        return await to_thread(self.memory.recent, since, limit=limit)

    async def journal(self, text: str, *, date: str | None = None) -> Saved:
        """Add lines to a day of the journal, by default to today in UTC."""
        return await to_thread(self.memory.journal, text, date=date)

    async def prompt(self, mode: str = "chat") -> str:
        """Return the memory as the system message of a request in a mode."""
        return await to_thread(self.memory.prompt, mode)

    async def tools(self, provider: Provider = "openai") -> list[dict[str, Any]]:
        """List the tools by which a model reads and changes this memory."""
        return await to_thread(self.memory.tools, provider)

    async def call(self, tool_call: Any) -> dict[str, Any]:  # noqa: ANN401 - of any provider's SDK
        """Run a tool call of a model, and return the message that answers it."""
        return await to_thread(self.memory.call, tool_call)
