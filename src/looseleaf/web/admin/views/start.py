"""The first visit in three steps, the search over everything, and the keyboard shortcuts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from looseleaf.errors import Forbidden, Invalid, LooseleafError
from looseleaf.mcp.clients.programs import CLIENTS
from looseleaf.memory.day import is_in_journal
from looseleaf.memory.search.results import BOUNDS
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.values import value

if TYPE_CHECKING:
    from looseleaf.memory.search.results import SearchResults
    from looseleaf.plugins.admin_pages import ListPart, Visit


MOST_OFFERED = 200  # agents
_AROUND = 3  # lines of the prompt before and after the fact


def show_steps(visit: Visit) -> Document | Redirect:
    """Show the three steps, each with its result so far."""
    agents = visit.run("looseleaf/list-agents")
    agent = visit.query.get("agent", "") or (agents[0].slug if agents else "")
    fact = visit.query.get("fact", "")
    data = {
        "agents": visit.cut(agents, MOST_OFFERED, name="agents"),
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


SEARCH = "/admin/search"
MOST_AGENTS = 20  # that one search looks through
MOST_MATCHES = 20  # of one place, if there are several
MOST_OF_PLACE = 100  # of one place that was chosen
MOST_SESSIONS = 50  # messages; the newest ones
PLACES = {"user": "About you", "shared": "Shared"}


@value(kw_only=True)
class PlaceResults:
    """The matches in one place: an agent's pages, or a layer."""

    place: str
    agent: str
    layer: str
    matches: ListPart
    address: str  # where all matches are shown; "" if they are
    notice: str


def search(visit: Visit) -> Document | Redirect:
    """Search everything that the signed-in person may read, or what the query chooses of it."""
    query = visit.query.get("q", "").strip()
    slug, layer = visit.query.get("agent", ""), visit.query.get("in", "")
    data: dict[str, Any] = {"query": query, "groups": [], "messages": (), "all": "", "left": None}
    data["most_messages"] = MOST_SESSIONS
    if not query:
        return Document("search.html", "Search", data)
    agents = visit.run("looseleaf/list-agents")
    selection = [agent for agent in agents if agent.slug == slug]
    places = visit.cut(selection or agents, MOST_AGENTS, name="agents")
    first = slug or (agents[0].slug if agents else "")
    if layer in ("agent", *PLACES) and first:
        groups = _search_place(visit, query, first, layer, is_alone=True)
    else:
        groups = []
        for agent in places:
            groups += _search_place(visit, query, agent.slug, "agent")
        for name in PLACES if first else ():
            groups += _search_place(visit, query, first, name)
        data["messages"] = _search_sessions(visit, query)
    is_part = bool(selection or layer)
    data |= {
        "groups": groups,
        "all": f"{SEARCH}?{urlencode({'q': query})}" if is_part else "",
        "left": None if is_part else places,
    }
    return Document("search.html", f"Search: {query}", data)


def _search_place(
    visit: Visit, query: str, agent: str, layer: str, *, is_alone: bool = False
) -> list[PlaceResults]:
    """Search the pages of one agent or layer; its journal, which comes last, is a place apart."""
    most, limit = (MOST_OF_PLACE, BOUNDS.matches) if is_alone else (MOST_MATCHES, MOST_MATCHES)
    place = {"query": query, "agent": agent, "layer": layer}
    name = PLACES.get(layer, agent)
    try:
        results: SearchResults = visit.run(
            "datamachine/search-agent-memory", **place, limit=limit, lines=0
        )
    except Forbidden:
        return []  # a layer that may not be read has no matches
    except LooseleafError as error:
        matches = visit.cut((), most, name="lines")
        fields = {"place": name, "agent": agent, "layer": layer, "address": ""}
        return [PlaceResults(**fields, matches=matches, notice=str(error))]
    journal = _search_journal(visit, query, agent) if layer == "agent" and results.total else None
    count = results.total - (journal.matches.total if journal else 0)
    lines = [match for match in results.matches if not is_in_journal(match.filename)]
    pages = PlaceResults(
        place=name,
        agent=agent,
        layer=layer,
        matches=visit.cut(lines, most, name="lines", total=count, links=is_alone),
        address=""
        if is_alone
        else f"{SEARCH}?{urlencode({'q': query, 'agent': agent, 'in': layer})}",
        notice=results.notice if is_alone else "",
    )
    return [group for group in (pages, journal) if group is not None and group.matches]


def _search_journal(visit: Visit, query: str, agent: str) -> PlaceResults:
    """Search the journal of an agent; its own page shows all matches."""
    results: SearchResults = visit.run(
        "datamachine/search-daily-memory", query=query, agent=agent, lines=0
    )
    return PlaceResults(
        place=f"{agent}, journal",
        agent=agent,
        layer="agent",
        matches=visit.cut(
            results.matches, MOST_MATCHES, name="days", total=results.total, links=False
        ),
        address=f"/admin/agents/{quote(agent)}/journal?{urlencode({'q': query})}",
        notice="",
    )


def _search_sessions(visit: Visit, query: str) -> ListPart:
    """Search the conversations; without the right to chat there are no matches."""
    try:
        sessions = visit.run("looseleaf/search-chat-sessions", query=query, limit=MOST_SESSIONS)
    except LooseleafError:
        sessions = []
    return visit.cut(sessions, MOST_MATCHES, name="messages")


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
