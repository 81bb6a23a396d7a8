"""A summary of the agents: how large their pages are against their budgets, and what changed."""

from __future__ import annotations

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import list_visible_agents
from looseleaf.errors.agents import AgentMissing
from looseleaf.memory.page_text import MAIN
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.memory.store import PageEntry


@value(kw_only=True)
class AgentSummary:
    """An agent at a glance. Its journal and its folders of pages are not counted."""

    id: int
    slug: str
    name: str
    status: str
    memory_bytes: int  # of MEMORY.md
    memory_budget: int  # 0 if it has none
    bytes: int  # of all its pages
    over_budget: tuple[str, ...]  # the pages that are larger than their budgets
    changed: float  # when a page of it last changed, or 0 if it has none
    changed_page: str
    changed_by: str  # "" if nobody asked, or the history does not say


@operation("looseleaf/summarize-agents", permission="read", categories=("agents",), read_only=True)
def summarize_agents(
    context: Context, agents: tuple[str, ...] | None = None, *, authors: bool = True
) -> list[AgentSummary]:
    """List agents with the size of their pages against the budgets, and their last changes.

    Arguments:
        agents: The slugs of the agents to look at; without it, every agent that one may see.
        authors: Whether the history is asked who made each last change.
    """
    records = list_visible_agents(context)
    if agents is not None:
        by_slug = {record.slug: record for record in records}
        for slug in agents:
            if slug not in by_slug:
                raise AgentMissing(slug, tuple(by_slug))
        records = [by_slug[slug] for slug in agents]
    return [_summarize(context, record, authors=authors) for record in records]


def _summarize(context: Context, record: AgentRecord, *, authors: bool) -> AgentSummary:
    entries = context.pages.store_for(record.shelf).list_layer(record.shelf)
    sizes = {entry.filename: entry.bytes for entry in entries}
    latest = max(entries, key=lambda entry: entry.updated, default=None)
    return AgentSummary(
        id=record.id,
        slug=record.slug,
        name=record.name,
        status=record.status,
        memory_bytes=sizes.get(MAIN, 0),
        memory_budget=_find_budget(context, MAIN),
        bytes=sum(sizes.values()),
        over_budget=tuple(
            name for name, size in sizes.items() if 0 < _find_budget(context, name) < size
        ),
        changed=latest.updated if latest else 0.0,
        changed_page=latest.filename if latest else "",
        changed_by=_find_author(context, record, latest) if authors and latest else "",
    )


def _find_budget(context: Context, filename: str) -> int:
    registered_file = context.pages.registry.get(filename)
    return (
        registered_file.byte_budget if registered_file and registered_file.layer == "agent" else 0
    )


def _find_author(context: Context, record: AgentRecord, entry: PageEntry) -> str:
    revision = context.history.latest(record.shelf.page(entry.filename))
    return revision.actor if revision else ""
