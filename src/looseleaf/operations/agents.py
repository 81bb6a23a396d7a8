"""Agents: create, list, show, rename, configure, switch off and on, delete, restore."""

from __future__ import annotations

import time

from looseleaf.agents.accounts import TOKEN
from looseleaf.errors import Unavailable
from looseleaf.folders import fold
from looseleaf.memory.scope import Shelf
from looseleaf.memory.templates import TemplateContext, starter
from looseleaf.operations.audit import event, has_accounts
from looseleaf.operations.catalog import operation
from looseleaf.operations.context import (
    HERE,
    Where,
    accounts_of,
    agent_of,
    allow_page,
    layer_of,
    scope_of,
    shelf_of,
    user_exists,
    visible_agents,
)
from looseleaf.operations.history import forget
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.operations.context import Context


@value
class Removed:
    """An agent that is gone: how many pages went with it (restoring it brings them back)."""

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

    def start(record: AgentRecord) -> None:
        if user_exists(context, user):
            start_pages(context, Shelf("user", user))
        start_pages(context, record.shelf, agent_name=record.name)

    above = 0 if context.agents.has_register() else _highest_id(context)
    record = context.agents.create(
        slug, name=name, owner=user, config=config, start=start, above=above
    )
    return _followed(context, record)


def _highest_id(context: Context) -> int:
    """Give the highest id of an agent that any token or grant names: one that has been given."""
    if not has_accounts(context):
        return 0
    accounts = accounts_of(context)
    credentials = [one.agent_id for one in accounts.credentials.list(TOKEN)]
    return max([0, *credentials, *(one.agent_id for one in accounts.grants.list())])


@operation("looseleaf/rename-agent", permission="agents", categories=("agents",))
def rename_agent(context: Context, agent: str | int, slug: str, *, name: str = "") -> AgentRecord:
    """Give an agent another slug, moving its folder; its id and history stay."""
    return _followed(context, context.agents.rename(agent_of(context, agent).id, slug, name=name))


@operation(
    "looseleaf/configure-agent", permission="agents", categories=("agents",), idempotent=True
)
def configure_agent(context: Context, agent: str | int, config: Mapping[str, Any]) -> AgentRecord:
    """Set keys of an agent's configuration; a key set to null is taken out."""
    return _followed(context, context.agents.configure(agent_of(context, agent).id, config))


@operation(
    "looseleaf/set-agent-status", permission="agents", categories=("agents",), idempotent=True
)
def set_agent_status(context: Context, agent: str | int, status: str) -> AgentRecord:
    """Make an agent active, inactive or archived."""
    return _followed(context, context.agents.set_status(agent_of(context, agent).id, status))


@operation("looseleaf/delete-agent", permission="agents", categories=("agents",), destructive=True)
def delete_agent(context: Context, agent: str | int, *, files: bool = False) -> Removed:
    """Delete an agent, with its pages if told, and end its tokens and roles; it can be restored."""
    record = agent_of(context, agent)
    store = context.pages.store_for(record.shelf)
    count = len(store.list_subtree(record.shelf, "")) if files else 0
    if files and not store.capabilities.agent_folders:
        for entry in store.list_subtree(record.shelf, ""):
            scope = record.shelf.page(entry.filename)
            store.delete(scope, change=context.change("delete agent"))
    context.agents.remove(record.id, files=files)
    _end_rights(context, record)
    try:
        forget(context, record.shelf)
    except (OSError, Unavailable) as error:
        context.report(f"the search index still holds text of {record.slug}", error)
    _followed(context, record)
    return Removed(record.slug, count, record.slug in context.agents.slugs())


@operation(
    "looseleaf/list-deleted-agents", permission="agents", categories=("agents",), read_only=True
)
def list_deleted_agents(context: Context) -> list[AgentRecord]:
    """List the deleted agents that can be restored, by id."""
    context.allow()
    return context.agents.deleted()


@operation("looseleaf/restore-agent", permission="agents", categories=("agents",))
def restore_agent(context: Context, agent: str | int, *, slug: str = "") -> AgentRecord:
    """Bring a deleted agent back: its id, its pages and their history, but no token and no role."""
    context.allow()
    for record in context.agents.deleted():
        if str(agent) in (str(record.id), record.slug):
            _end_rights(context, record)  # where it was deleted by other means than the operation
    return _followed(context, context.agents.restore(agent, slug))


def _end_rights(context: Context, record: AgentRecord) -> None:
    """End the tokens of an agent and take away the roles on it."""
    if not has_accounts(context):
        return
    target = f"agent={record.slug} id={record.id}"
    told = event(context, "end the rights of a deleted agent", target)
    try:
        accounts_of(context).end_agent(record.id, context.clock(), told)
    except Unavailable as error:
        # The agent is gone, so that its tokens open nothing; restoring it ends them first.
        context.report(f"the tokens of the deleted agent {record.slug} are not ended", error)


def _followed(context: Context, record: AgentRecord) -> AgentRecord:
    """Bring the pages that are generated from the list of agents up to date."""
    if context.generated is not None:
        context.generated().follow_agents()
    return record


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
