"""The first visit in three steps, the search over everything, and the keyboard shortcuts."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from looseleaf.errors import Forbidden, Invalid, LooseleafError
from looseleaf.mcp.clients.programs import CLIENTS
from looseleaf.memory.day import is_in_journal
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.values import value

if TYPE_CHECKING:
    from looseleaf.memory.search.results import Match
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


# One search box: pages, journal and conversations.


MOST_AGENTS = 20  # that one search looks through
MOST_MATCHES = 20  # of one agent or layer
MOST_SESSIONS = 20


@value
class PlaceResults:
    """The matches in one place: an agent's pages, its journal, or a layer."""

    place: str
    agent: str
    layer: str
    matches: tuple[Match, ...]
    total: int
    notice: str


def search(visit: Visit) -> Document | Redirect:
    """Search everything that the signed-in person may read, or one agent if the query names it."""
    query = visit.query.get("q", "").strip()
    data = {"query": query, "groups": [], "messages": [], "problems": [], "agent": "", "left": 0}
    if not query:
        return Document("search.html", "Search", data)
    agents = visit.run("looseleaf/list-agents")
    slug = visit.query.get("agent", "")
    selection = [agent for agent in agents if agent.slug == slug]
    places = selection or agents[:MOST_AGENTS]
    groups: list[PlaceResults] = []
    for agent in places:
        groups += _search_place(visit, query, agent.slug, "agent")
    first = places[0].slug if places else ""
    for layer in ("user", "shared"):
        groups += _search_place(visit, query, first, layer)
    data |= {
        "groups": groups,
        "messages": _search_sessions(visit, query),
        "agent": slug if selection else "",
        "left": 0 if selection else max(0, len(agents) - MOST_AGENTS),
    }
    return Document("search.html", f"Search: {query}", data)


def _search_place(visit: Visit, query: str, agent: str, layer: str) -> list[PlaceResults]:
    """Search one agent or layer; its journal is shown apart from its pages."""
    if not agent:
        return []
    try:
        results = visit.run(
            "datamachine/search-agent-memory",
            query=query, agent=agent, layer=layer, limit=MOST_MATCHES, lines=1,
        )  # fmt: skip
    except Forbidden:
        return []  # a layer that may not be read has no matches
    except LooseleafError as error:
        return [PlaceResults(agent, agent, layer, (), 0, str(error))]
    journal = tuple(match for match in results.matches if is_in_journal(match.filename))
    pages = tuple(match for match in results.matches if match not in journal)
    name = agent if layer == "agent" else {"user": "About you", "shared": "Shared"}[layer]
    groups = []
    if pages:
        groups.append(PlaceResults(name, agent, layer, pages, results.total, results.notice))
    if journal:
        groups.append(PlaceResults(f"{name}, journal", agent, layer, journal, results.total, ""))
    return groups


def _search_sessions(visit: Visit, query: str) -> list[object]:
    try:
        sessions = visit.run("looseleaf/search-chat-sessions", query=query, limit=MOST_SESSIONS)
    except LooseleafError:
        return []  # without the right to chat there are no matches
    return list(sessions)


# The help sheet: every keyboard shortcut of the scripts.


SHORTCUTS = (
    ("/", "Search pages, journal and conversations"),
    ("?", "Show this list"),
    ("g a", "Go to the agents"),
    ("g p", "Go to the pages of this agent"),
    ("g s", "Go to what this agent sees"),
    ("g j", "Go to the journal of this agent"),
    ("g c", "Go to the conversations with this agent"),
    ("r", "Read this page"),
    ("e", "Edit this page"),
    ("h", "History of this page"),
    ("p", "Earlier day of the journal"),
    ("n", "Later day of the journal"),
    ("j", "Next entry of a list"),
    ("k", "Previous entry of a list"),
    ("Ctrl s", "Save, in the editor"),
    ("Ctrl Enter", "Send, in a conversation"),
    ("Esc", "Leave a field, or close this list"),
)


def list_shortcuts(_visit: Visit) -> Document | Redirect:
    """Show the help sheet as a page."""
    return Document("shortcuts.html", "Keyboard shortcuts", {"shortcuts": SHORTCUTS})
