"""Agents: create, list, show, rename, configure, switch off and on, delete, restore."""

from __future__ import annotations

from looseleaf.agents.config import AgentConfig
from looseleaf.agents.record import AgentRecord
from looseleaf.catalog.context import build_event
from looseleaf.catalog.declaration import operation
from looseleaf.catalog.model_tools import list_model_tools
from looseleaf.catalog.new_ids import find_highest_agent_id
from looseleaf.catalog.prompt_assembly import assemble
from looseleaf.catalog.resolution import (
    agent_of,
    allow_page,
    has_user,
    layer_of,
    list_visible_agents,
    scope_of,
    shelf_of,
)
from looseleaf.catalog.tool_access import check_tool_names
from looseleaf.errors import Unavailable
from looseleaf.errors.pages import AgentMissing
from looseleaf.files.folders import casefold_name
from looseleaf.memory.day import FOLDER, is_in_journal
from looseleaf.memory.pages import MAIN
from looseleaf.memory.provenance import FROM_SYSTEM
from looseleaf.memory.scope import DEFAULT_WHERE, Shelf, Where
from looseleaf.memory.templates import TemplateContext, find_starter
from looseleaf.models.model import ModelOffer
from looseleaf.operations.history import forget
from looseleaf.prompt.reports import PromptComparison, compare_prompts
from looseleaf.times import format_date
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from looseleaf.catalog.context import Context
    from looseleaf.memory.scope import Layer
    from looseleaf.memory.store import PageEntry
    from looseleaf.prompt.assembly import Assembly


@value
class Removed:
    """A deleted agent, and how many pages went with it; restoring the agent brings them back."""

    slug: str
    pages: int
    folder_left: bool


@operation("looseleaf/list-agents", permission="read", categories=("agents",), read_only=True)
def list_agents(context: Context) -> list[AgentRecord]:
    """List every agent that one may see, by slug."""
    return list_visible_agents(context)


@operation("looseleaf/show-agent", permission="read", categories=("agents",), read_only=True)
def show_agent(context: Context, agent: str | int | None = None) -> AgentRecord:
    """Show one agent, found by id or slug.

    Arguments:
        agent: The agent to show, by id or slug; without it, the token's or the default agent.
    """
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
    """Create an agent and start its SOUL.md and MEMORY.md; pages that are there stay.

    Arguments:
        slug: The new agent's short name, which also names its folder: lower-case letters, digits,
            - and _.
        name: The agent's name for people; without it, the slug.
        owner: The id of the user whom the agent belongs to; without it, the user who acts.
        config: The first configuration, such as {"chat": {"turn_limit": 5}}; without it, an empty
            one.
    """
    context.allow()
    user = (context.principal.user_id or context.settings.default_user) if owner is None else owner

    def start(record: AgentRecord) -> None:
        if has_user(context, user):
            start_pages(context, Shelf("user", user))
        start_pages(context, record.shelf, agent_name=record.name)

    record = context.parts.agents.create(
        slug,
        name=name,
        owner=user,
        config=config,
        start=start,
        highest_id=lambda: find_highest_agent_id(context),
    )
    return update_generated_pages(context, record)


@operation("looseleaf/rename-agent", permission="agents", categories=("agents",))
def rename_agent(context: Context, agent: str | int, slug: str, *, name: str = "") -> AgentRecord:
    """Change an agent's slug, moving its folder; its id and history stay.

    Arguments:
        agent: The agent to rename, by id or its present slug.
        slug: The new slug: lower-case letters, digits, - and _.
        name: The new name for people; without it, the name stays.
    """
    return update_generated_pages(
        context, context.parts.agents.rename(agent_of(context, agent).id, slug, name=name)
    )


@operation("looseleaf/list-models", permission="agents", categories=("agents",), read_only=True)
def list_models(context: Context, *, agent: str | int | None = None) -> list[ModelOffer]:
    """List the models that the providers of the settings offer, for an agent's configuration.

    Each provider is asked for a few seconds; why one gives no list stands beside it.

    Arguments:
        agent: The agent that is to be configured, by id or slug; without it, the default agent.
    """
    agent_of(context, agent)
    return context.parts.models().list_offers()


@operation(
    "looseleaf/configure-agent", permission="agents", categories=("agents",), idempotent=True
)
def configure_agent(context: Context, agent: str | int, config: Mapping[str, Any]) -> AgentRecord:
    """Set keys of an agent's configuration; a key set to null is taken out.

    Arguments:
        agent: The agent to configure, by id or slug.
        config: The keys to set, each with its whole new value; null takes a key out, and all other
            keys stay.
    """
    return update_generated_pages(
        context, context.parts.agents.configure(agent_of(context, agent).id, config)
    )


@operation(
    "looseleaf/set-agent-status", permission="agents", categories=("agents",), idempotent=True
)
def set_agent_status(context: Context, agent: str | int, status: str) -> AgentRecord:
    """Make an agent active, inactive or archived.

    Arguments:
        agent: The agent to switch on or off, by id or slug.
        status: The new status: active, inactive or archived.
    """
    return update_generated_pages(
        context, context.parts.agents.set_status(agent_of(context, agent).id, status)
    )


@operation("looseleaf/delete-agent", permission="agents", categories=("agents",), destructive=True)
def delete_agent(context: Context, agent: str | int, *, files: bool = False) -> Removed:
    """Delete an agent, on request with its pages, and end its tokens and roles; it can be restored.

    Arguments:
        agent: The agent to delete, by id or slug.
        files: Whether the agent's pages go with it; without them, its folder stays where it is.
    """
    record = agent_of(context, agent)
    store = context.pages.store_for(record.shelf)
    count = len(store.list_subtree(record.shelf, "")) if files else 0
    if files and not store.capabilities.agent_folders:
        for entry in store.list_subtree(record.shelf, ""):
            scope = record.shelf.page(entry.filename)
            store.delete(scope, change=context.change("delete agent"))
    context.parts.agents.remove(record.id, files=files)
    _end_rights(context, record)
    try:
        for shelf in _list_shelves(context, record):
            forget(context, shelf)
    except (OSError, Unavailable) as error:
        context.parts.report(f"the search index still holds text of {record.slug}", error)
    update_generated_pages(context, record)
    folders = context.parts.agents.folders
    return Removed(record.slug, count, folders is not None and record.slug in folders.slugs())


def _list_shelves(context: Context, record: AgentRecord) -> list[Shelf]:
    """List the shelves of an agent: its own, and those of what it knows about people."""
    shelves = context.parts.history.shelves()
    about_people = [shelf for shelf in shelves if shelf.user_id and shelf.agent_id == record.id]
    return [record.shelf, *about_people]


@operation(
    "looseleaf/list-deleted-agents", permission="agents", categories=("agents",), read_only=True
)
def list_deleted_agents(context: Context) -> list[AgentRecord]:
    """List the deleted agents that can be restored, by id."""
    context.allow()
    return context.parts.agents.deleted_records()


@operation("looseleaf/restore-agent", permission="agents", categories=("agents",))
def restore_agent(context: Context, agent: str | int, *, slug: str = "") -> AgentRecord:
    """Restore a deleted agent: its id, its pages and their history, but no token and no role.

    Arguments:
        agent: The deleted agent, by id or by the slug that it had.
        slug: The slug that it gets, needed only if another agent has taken its own meanwhile.
    """
    context.allow()
    for record in context.parts.agents.deleted_records():
        if str(agent) in (str(record.id), record.slug):
            _end_rights(context, record)  # if it was deleted by other means than the operation
    return update_generated_pages(context, context.parts.agents.restore(agent, slug))


def _end_rights(context: Context, record: AgentRecord) -> None:
    """End the tokens of an agent and take away the roles on it."""
    if not context.parts.has_accounts():
        return
    target = f"agent={record.slug} id={record.id}"
    audit_event = build_event(context, "end the rights of a deleted agent", target)
    try:
        context.parts.accounts().end_agent(record.id, context.clock(), audit_event)
    except Unavailable as error:
        # The agent is gone, so that its tokens open nothing; restoring it ends them first.
        context.parts.report(f"the tokens of the deleted agent {record.slug} are not ended", error)


def update_generated_pages(context: Context, record: AgentRecord) -> AgentRecord:
    """Update the pages that are generated from the list of agents."""
    context.parts.generated().follow_agents()
    return record


@operation(
    "datamachine/scaffold-memory-file",
    permission="write",
    categories=("memory", "files"),
    idempotent=True,
)
def scaffold(context: Context, file: str = "", *, where: Where = DEFAULT_WHERE) -> list[str]:
    """Start the core pages of an agent, or one page, if they are not there; give those made.

    Arguments:
        file: The one page to start, such as SOUL.md; without it, every core page of the layer.
        layer: The layer whose core pages are started: shared, agent, user, network or principal;
            without it, the agent's.
    """
    if file:
        scope = scope_of(context, file, where)
        return start_pages(context, scope.shelf, file=file)
    shelf = shelf_of(context, where, layer_of(where, "agent"))
    for registered_file in context.pages.registry.by_layer(shelf.layer):
        allow_page(context, shelf.page(registered_file.filename))
    return start_pages(context, shelf)


def start_pages(
    context: Context, shelf: Shelf, *, file: str = "", agent_name: str = ""
) -> list[str]:
    """Start the missing core pages of a shelf, without a check of rights; name the new pages."""
    if shelf.layer == "agent" and not agent_name:
        agent_name = context.parts.agents.resolve(shelf.agent_id).name
    filenames = []
    for registered_file in context.pages.registry.by_layer(shelf.layer):
        filename = registered_file.filename
        is_due = casefold_name(file or filename) == casefold_name(filename)
        text = find_starter_text(context, shelf.layer, filename, agent_name) if is_due else None
        if text is not None:
            change = context.change("scaffold", origin=FROM_SYSTEM)
            if context.pages.scaffold(shelf.page(filename), text, change=change):
                filenames.append(filename)
    return filenames


def find_starter_text(context: Context, layer: Layer, filename: str, agent_name: str) -> str | None:
    """Return the text that a page of a layer starts with, or None if it has none."""
    registered_file = context.pages.registry.get(filename)
    if registered_file is None or registered_file.layer != layer:
        return None
    if registered_file.composable:
        return None
    template = TemplateContext(
        agent_name=agent_name,
        workspace_name=context.settings.name,
        date=format_date(context.clock()),
    )
    return find_starter(filename, template, context.parts.starters().functions)


# A summary of the agents: how large their pages are against their budgets, and what changed.


@value(kw_only=True)
class AgentSummary:
    """An agent at a glance. Its journal and its folders of pages are not counted as bytes."""

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
        authors: Whether the history is asked who made each last change, in folders, too.
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
    changed = [*entries, *_list_folders(context, record)] if authors else entries
    latest = max(changed, key=lambda entry: entry.updated, default=None)
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


def _list_folders(context: Context, record: AgentRecord) -> list[PageEntry]:
    """List the pages in an agent's folders, and of its journal this month alone.

    The folders are those of the history: a journal of years is not walked.
    """
    store, shelf = context.pages.store_for(record.shelf), record.shelf
    try:
        names = [name for name in context.history.pages(shelf) if not is_in_journal(name)]
    except Unavailable:
        names = []
    folders = {name.partition("/")[0] for name in names if "/" in name}
    month = format_date(context.clock())[:7].replace("-", "/")
    folders.add(f"{FOLDER}/{month}")
    return [entry for folder in folders for entry in store.list_subtree(shelf, folder)]


def _find_budget(context: Context, filename: str) -> int:
    registered_file = context.pages.registry.get(filename)
    return (
        registered_file.byte_budget if registered_file and registered_file.layer == "agent" else 0
    )


def _find_author(context: Context, record: AgentRecord, entry: PageEntry) -> str:
    revision = context.history.latest(record.shelf.page(entry.filename))
    return revision.actor if revision else ""


# The preview of a configuration: what its policies would take out of an agent's prompt.


@value
class ToolDifference:
    """One tool of a conversation, now and with the configuration that is tried."""

    name: str
    kind: Literal["same", "added", "removed"]


@value
class ConfigPreview:
    """What a configuration would change; `prompt` compares the present prompt with the new one."""

    agent: str
    mode: str
    prompt: PromptComparison
    tools: tuple[ToolDifference, ...]


@operation(
    "looseleaf/preview-agent-config", permission="agents", categories=("agents",), read_only=True
)
def preview_config(
    context: Context, agent: str | int, config: Mapping[str, Any], *, mode: str = "chat"
) -> ConfigPreview:
    """Show what keys of a configuration would add to and take out of a prompt; nothing is set.

    Arguments:
        agent: The agent to try the configuration on, by id or slug.
        config: The keys to try, as `configure` takes them: each with its whole new value, and null
            for a key that is taken out.
        mode: The kind of request that the prompt is for: chat, pipeline, system or a mode of your
            own.
    """
    record = agent_of(context, agent)
    new_config = AgentConfig(record.slug, config)
    if new_config.has_tool_policy:
        check_tool_names(context.parts.operations(), new_config.tool_policy)
    read_context = context.with_permission("read")
    before = assemble(read_context, mode, where=Where(record.id))
    after = assemble(read_context, mode, where=Where(record.id), config=config)
    after.request.agent.configuration.check()
    comparison = compare_prompts(before, after, context.parts.chain().tokenizer)
    tools = _compare_tools(read_context, before, after)
    return ConfigPreview(record.slug, mode, comparison, tools)


def _compare_tools(
    context: Context, before: Assembly, after: Assembly
) -> tuple[ToolDifference, ...]:
    old = [tool.name for tool in list_model_tools(context, before.request)]
    new = [tool.name for tool in list_model_tools(context, after.request)]
    tools = [ToolDifference(name, "same" if name in new else "removed") for name in old]
    return (*tools, *(ToolDifference(name, "added") for name in new if name not in old))
