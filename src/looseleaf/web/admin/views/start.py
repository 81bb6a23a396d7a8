"""The first visit: write one fact, see it in the prompt, connect a coding agent."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from looseleaf.errors import Invalid, LooseleafError
from looseleaf.mcp_server.clients.programs import CLIENTS
from looseleaf.plugins.admin_pages import Document, Redirect

if TYPE_CHECKING:
    from looseleaf.plugins.admin_pages import Visit

_AROUND = 3  # lines of the prompt before and after the fact


def show_steps(visit: Visit) -> Document | Redirect:
    """Show the three steps, each with its result so far."""
    agents = visit.run("looseleaf/list-agents")
    agent = visit.query.get("agent", "") or (agents[0].slug if agents else "")
    fact = visit.query.get("fact", "")
    data = {
        "agents": agents[:200],
        "agent": agent,
        "fact": fact,
        "excerpt": _excerpt(visit, agent, fact) if fact and agent else (),
        "clients": [(name, client.title) for name, client in CLIENTS.items()],
    }
    return Document("start.html", "First steps", data)


def write_fact(visit: Visit) -> Document | Redirect:
    """Add the fact to the agent's long-term memory."""
    agent, fact = visit.form.get("agent", ""), " ".join(visit.form.get("fact", "").split())
    if not fact:
        raise Invalid("Write a sentence that the agent should know.")
    visit.run("memory_long_term_add", content=f"- {fact}", agent=agent)
    address = f"/admin/start?{urlencode({'agent': agent, 'fact': fact})}"
    return Redirect(address, f"{agent} will know this from its next request on.")


def _excerpt(visit: Visit, agent: str, fact: str) -> tuple[tuple[str, bool], ...]:
    """Return the lines of the prompt around the fact, each with whether it contains the fact."""
    try:
        prompt = visit.run("looseleaf/compose-prompt", mode="chat", agent=agent, format="text")
    except LooseleafError:
        return ()
    lines = str(prompt.get("text", "")).split("\n")
    place = next((at for at in range(len(lines) - 1, -1, -1) if fact in lines[at]), None)
    if place is None:
        return ()
    near = lines[max(0, place - _AROUND) : place + _AROUND + 1]
    while near and not near[-1].strip():
        near.pop()
    return tuple((line, fact in line) for line in near)
