"""The check of core pages: each can be read, and none is half merged or duplicated."""

from __future__ import annotations

from looseleaf.agents.agent_list import list_readable_agents
from looseleaf.memory.scope import Shelf
from looseleaf.upkeep.finding import Finding
from looseleaf.upkeep.page_problems import find_page_problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.agents.agent_list import AgentList
    from looseleaf.memory.pages import MemoryPages

_FAULTS = ("unreadable", "not_text")


def check_core_pages(pages: MemoryPages, agents: AgentList, default_user: int) -> Iterator[Finding]:
    """Check that every core page can be read, and that none is half merged or duplicated."""
    count = 0
    for shelf in list_shelves(agents, default_user):
        owner = _format_owner(agents, shelf)
        for problem in find_page_problems(pages, shelf):
            count += 1
            status = "fault" if problem.kind in _FAULTS else "warning"
            detail = f"{owner}: {problem.detail}"
            yield Finding("core pages", status, detail, problem.advice)  # type: ignore[arg-type]
    if not count:
        yield Finding("core pages", "ok", "every core page can be read")


def list_shelves(agents: AgentList, default_user: int) -> Iterator[Shelf]:
    """List the shared shelves, and those of readable agents and of their owners."""
    records = list(list_readable_agents(agents))
    yield from (Shelf("shared"), Shelf("network"))
    users = {default_user, *(record.owner for record in records)}
    yield from (Shelf("user", user) for user in sorted(users))
    yield from (record.shelf for record in records)


def _format_owner(agents: AgentList, shelf: Shelf) -> str:
    if shelf.layer == "agent":
        return f"agents/{agents.slug_of(shelf.agent_id)}"
    return f"users/{shelf.user_id}" if shelf.layer == "user" else shelf.layer
