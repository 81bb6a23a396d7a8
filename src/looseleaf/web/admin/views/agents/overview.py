"""Agents: the list of all, creating an agent, and restoring a deleted one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.errors import LooseleafError
from looseleaf.memory.page_text import MAIN
from looseleaf.operations.agent_summary import AgentSummary
from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.times import DAY_SECONDS

if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord
    from looseleaf.plugins.admin_pages import Visit

MOST = 50  # on one page of the list
MOST_COUNTED = 200  # agents; above this number the list has no counts
OVER, TODAY, OFF = "over", "today", "off"
CHOICES = (("", "All"), (OVER, "Over budget"), (TODAY, "Changed today"), (OFF, "Not active"))


def list_agents(visit: Visit) -> Document | Redirect:
    """List the agents whose name or slug contains the words of the filter."""
    agents: list[AgentRecord] = visit.run("looseleaf/list-agents")
    words = visit.query.get("filter", "").strip().lower()
    show = visit.query.get("show", "")
    candidates = [
        agent for agent in agents if words in agent.slug.lower() or words in agent.name.lower()
    ]
    counts = _count(visit, agents) if len(agents) <= MOST_COUNTED else {}
    matches = _choose(visit, candidates, show)
    after = visit.query.get("after", "")
    rest = [agent for agent in matches if agent.slug > after]
    data = {
        "rows": _summarize(visit, rest[:MOST], authors=True),
        "count": len(agents),
        "matches": len(matches),
        "words": words,
        "show": show,
        "choices": CHOICES,
        "counts": counts,
        "next": rest[MOST - 1].slug if len(rest) > MOST else "",
        "may_create": may_create(visit),
        "today": _compute_day_start(visit),
        "is_fresh": len(agents) == 1 and _is_fresh(visit, agents[0].slug),
    }
    return Document("agents/overview.html", "Agents", data)


def _is_fresh(visit: Visit, slug: str) -> bool:
    """Return whether nobody has written to the agent's memory yet."""
    try:
        revisions = visit.run("looseleaf/page-history", file=MAIN, agent=slug)
    except LooseleafError:
        return False  # unknown without the history
    return all(revision.operation == "scaffold" for revision in revisions)


def may_create(visit: Visit) -> bool:
    """Return whether the signed-in person may create agents; the operation decides."""
    return visit.context.principal.can("manage_agents")


def _summarize(
    visit: Visit, agents: list[AgentRecord], *, authors: bool = False
) -> list[AgentSummary]:
    slugs = [agent.slug for agent in agents]
    summaries: list[AgentSummary] = visit.run(
        "looseleaf/summarize-agents", agents=slugs, authors=authors
    )
    return summaries


def _choose(visit: Visit, agents: list[AgentRecord], show: str) -> list[AgentRecord]:
    if show == OFF:
        return [agent for agent in agents if agent.status != "active"]
    if show not in (OVER, TODAY):
        return agents
    today = _compute_day_start(visit)
    slugs = {
        agent.slug
        for agent in _summarize(visit, agents)
        if (agent.over_budget if show == OVER else agent.changed >= today)
    }
    return [agent for agent in agents if agent.slug in slugs]


def _count(visit: Visit, agents: list[AgentRecord]) -> dict[str, int]:
    today = _compute_day_start(visit)
    summaries = _summarize(visit, agents)
    return {
        "": len(agents),
        OVER: sum(bool(summary.over_budget) for summary in summaries),
        TODAY: sum(summary.changed >= today for summary in summaries),
        OFF: sum(summary.status != "active" for summary in summaries),
    }


def _compute_day_start(visit: Visit) -> float:
    """Compute the start of the present day in UTC."""
    now = visit.context.clock()
    return now - now % DAY_SECONDS


def show_agent(visit: Visit) -> Document | Redirect:
    """Redirect to the pages of an agent."""
    agent = visit.run("looseleaf/show-agent", agent=visit.parameters["agent"])
    return Redirect(f"/admin/agents/{agent.slug}/pages")


def show_form(visit: Visit) -> Document | Redirect:
    """Show the form for a new agent."""
    data = {"may_create": may_create(visit)}
    return Document("agents/new.html", "New agent", data)


def create_agent(visit: Visit) -> Document | Redirect:
    """Create an agent, and redirect to its pages."""
    agent = visit.run(
        "looseleaf/create-agent",
        slug=visit.form.get("slug", "").strip(),
        name=visit.form.get("name", "").strip(),
    )
    notice = f"{agent.name} is created. Write its SOUL.md first, which says who it is."
    return Redirect(f"/admin/agents/{agent.slug}/pages", notice)


def list_deleted(visit: Visit) -> Document | Redirect:
    """List the deleted agents that can be restored."""
    agents = visit.run("looseleaf/list-deleted-agents")
    used_slugs = {agent.slug for agent in visit.run("looseleaf/list-agents")}
    data = {"agents": agents[:MOST], "count": len(agents), "taken": used_slugs}
    return Document("agents/deleted.html", "Deleted agents", data)


def restore_agent(visit: Visit) -> Document | Redirect:
    """Restore a deleted agent."""
    agent = visit.run(
        "looseleaf/restore-agent",
        agent=visit.form.get("agent", ""),
        slug=visit.form.get("slug", "").strip(),
    )
    notice = f"{agent.name} is restored with its pages and history, without tokens and roles."
    return Redirect(f"/admin/agents/{agent.slug}/pages", notice)
