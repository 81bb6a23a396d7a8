"""One search box: pages, journal and conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.errors import Forbidden, LooseleafError
from looseleaf.memory.day import is_in_journal
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.values import value

if TYPE_CHECKING:
    from looseleaf.memory.search.results import Match
    from looseleaf.plugins.admin_pages import Visit

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
