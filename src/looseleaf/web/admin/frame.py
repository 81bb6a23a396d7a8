"""The frame around every page: the workspace, the signed-in person, agents, navigation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.plugins.admin_pages import AGENT, WORKSPACE
from looseleaf.values import value
from looseleaf.version import __version__
from looseleaf.web.admin import static_files

if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord
    from looseleaf.plugins.admin_pages import AdminPage, AdminPages, Visit

MOST_AGENTS = 12  # in the side bar; the page of all agents has the others


@value
class Link:
    """An entry of the navigation."""

    label: str
    address: str
    is_here: bool


@value(kw_only=True)
class Frame:
    """The data that every template has besides its own."""

    workspace: str
    user: str
    agent: AgentRecord | None  # the agent that the page is about
    agents: tuple[AgentRecord, ...]  # in the side bar
    agent_count: int
    agent_links: tuple[Link, ...]
    workspace_links: tuple[Link, ...]
    query: str  # in the search box
    csrf: str
    static: str
    version: str


def build_frame(pages: AdminPages, page: AdminPage | None, visit: Visit, csrf: str) -> Frame:
    """Build the frame of a page, with the agents that the signed-in person may see."""
    agents: list[AgentRecord] = visit.run("looseleaf/list-agents")
    slug = visit.parameters.get("agent", "")
    agent = next(
        (record for record in agents if slug in (record.slug, str(record.id))),
        None,
    )
    if agent is None and len(agents) == 1:
        agent = agents[0]
    return Frame(
        workspace=visit.context.settings.display_name,
        user=visit.context.principal.name,
        agent=agent,
        agents=_choose_side_agents(agents, agent),
        agent_count=len(agents),
        agent_links=_build_links(pages, page, AGENT, agent.slug) if agent else (),
        workspace_links=_build_links(pages, page, WORKSPACE, ""),
        query=visit.query.get("q", "") if page is not None and page.name == "search" else "",
        csrf=csrf,
        static=f"/static/{static_files.compute_version()}",
        version=__version__,
    )


def _choose_side_agents(
    agents: list[AgentRecord], agent: AgentRecord | None
) -> tuple[AgentRecord, ...]:
    """Choose the agents of the side bar: the first ones by slug, and the agent of the page."""
    active = [record for record in agents if record.status == "active"] or agents
    side_agents = active[:MOST_AGENTS]
    if agent is not None and agent not in side_agents:
        side_agents = sorted(
            [*side_agents[: MOST_AGENTS - 1], agent], key=lambda record: record.slug
        )
    return tuple(side_agents)


def _build_links(
    pages: AdminPages, page: AdminPage | None, section: str, agent: str
) -> tuple[Link, ...]:
    return tuple(
        Link(entry.label, entry.link(agent), page is not None and _is_part(page, entry))
        for entry in pages.labelled(section)
    )


def _is_part(page: AdminPage, entry: AdminPage) -> bool:
    """Return whether a page is an entry of the navigation itself, or belongs to the entry."""
    return page is entry or page.parent == entry.name
