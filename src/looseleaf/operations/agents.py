"""Agents: create, list, show, rename, configure, switch off and on, delete."""

from __future__ import annotations

import time

from looseleaf.folders import fold
from looseleaf.memory.scope import Shelf
from looseleaf.memory.templates import TemplateContext, starter
from looseleaf.operations.catalog import operation
from looseleaf.operations.context import (
    HERE,
    Where,
    agent_of,
    allow_page,
    layer_of,
    scope_of,
    shelf_of,
    user_exists,
    visible_agents,
)
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.operations.context import Context


@value
class Removed:
    """An agent that is gone: how many pages went with it (their text stays in the history)."""

    slug: str
    pages: int
    folder_left: bool


@operation("looseleaf/list-agents", permission="read", categories=("agents",), read_only=True)
def list_agents(context: Context) -> list[AgentRecord]:
    """List every agent that one may see, by slug."""
    return visible_agents(context)


@operation("looseleaf/show-agent", permission="read", categories=("agents",), read_only=True)
def show_agent(context: Context, agent: str | int | None = None) -> AgentRecord:
    """Show one agent, found by id or slug."""
    return agent_of(context, agent)


@operation("looseleaf/create-agent", permission="agents", categories=("agents",))
def create_agent(
    context: Context,
    slug: str,
    *,
    name: str = "",
    owner: int | None = None,
    config: Mapping[str, Any] | None = None,
) -> AgentRecord:
    """Create an agent and start its SOUL.md and MEMORY.md; pages that are there stay."""
    context.allow()
    user = (context.principal.user_id or context.settings.default_user) if owner is None else owner
    record = context.agents.create(slug, name=name, owner=user, config=config)
    start_pages(context, record.shelf, agent_name=record.name)
    if user_exists(context, user):
        start_pages(context, Shelf("user", user))
    return record


@operation("looseleaf/rename-agent", permission="agents", categories=("agents",))
def rename_agent(context: Context, agent: str | int, slug: str, *, name: str = "") -> AgentRecord:
    """Give an agent another slug, moving its folder; its id and history stay."""
    return context.agents.rename(agent_of(context, agent).id, slug, name=name)


@operation(
    "looseleaf/configure-agent", permission="agents", categories=("agents",), idempotent=True
)
def configure_agent(context: Context, agent: str | int, config: Mapping[str, Any]) -> AgentRecord:
    """Set keys of an agent's configuration; a key set to null is taken out."""
    return context.agents.configure(agent_of(context, agent).id, config)


@operation(
    "looseleaf/set-agent-status", permission="agents", categories=("agents",), idempotent=True
)
def set_agent_status(context: Context, agent: str | int, status: str) -> AgentRecord:
    """Make an agent active, inactive or archived."""
    return context.agents.set_status(agent_of(context, agent).id, status)


@operation("looseleaf/delete-agent", permission="agents", categories=("agents",), destructive=True)
def delete_agent(context: Context, agent: str | int, *, files: bool = False) -> Removed:
    """Delete an agent's record, and its pages too if told; what the pages said stays in history."""
    record = agent_of(context, agent)
    gone = 0
    if files:
        store = context.pages.store_for(record.shelf)
        for entry in store.list_subtree(record.shelf, ""):
            scope = record.shelf.page(entry.filename)
            store.delete(scope, change=context.change("delete agent"))
            gone += 1
    index = context.index()
    if index is not None:
        index.forget(record.shelf)
    context.agents.remove(record.id)
    return Removed(record.slug, gone, record.slug in context.agents.slugs())


@operation(
    "datamachine/scaffold-memory-file",
    permission="write",
    categories=("memory", "files"),
    idempotent=True,
)
def scaffold(context: Context, file: str = "", *, where: Where = HERE) -> list[str]:
    """Start the core pages of an agent, or one page, if they are not there; give those made."""
    if file:
        scope = scope_of(context, file, where)
        return start_pages(context, scope.shelf, file=file)
    shelf = shelf_of(context, where, layer_of(where, "agent"))
    for registered in context.pages.registry.by_layer(shelf.layer):
        allow_page(context, shelf.page(registered.filename))
    return start_pages(context, shelf)


def start_pages(
    context: Context, shelf: Shelf, *, file: str = "", agent_name: str = ""
) -> list[str]:
    """Start the core pages of a shelf that are not there yet, whoever acts; give those made."""
    if shelf.layer == "agent" and not agent_name:
        agent_name = context.agents.resolve(shelf.agent_id).name
    template = TemplateContext(
        agent_name=agent_name,
        workspace_name=context.settings.name,
        date=time.strftime("%Y-%m-%d", time.gmtime(context.clock())),
    )
    made = []
    starters = context.starters().functions
    for one in context.pages.registry.by_layer(shelf.layer):
        wanted = not one.composable and fold(file or one.filename) == fold(one.filename)
        text = starter(one.filename, template, starters) if wanted else None
        if text is not None:
            scope = shelf.page(one.filename)
            if context.pages.scaffold(scope, text, change=context.change("scaffold")):
                made.append(one.filename)
    return made
