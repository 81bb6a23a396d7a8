"""Resolution of names: agents, users, layers and pages, each found and allowed or refused."""

from __future__ import annotations

from looseleaf.access.principals import (
    AGENT,
    CHANGES,
    authorize,
    find_general_requirement,
    find_requirement,
    find_user_requirement,
)
from looseleaf.catalog.operation import CATALOG
from looseleaf.errors import Conflicted, Forbidden, InvalidName
from looseleaf.errors.pages import AgentAmbiguous, AgentMissing, DailyMemoryOff
from looseleaf.memory.day import is_in_journal
from looseleaf.memory.scope import LAYERS, Shelf, Where
from looseleaf.memory.store import Conflict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.catalog.generated_pages import TextSources
    from looseleaf.catalog.operation import Operation
    from looseleaf.errors import LooseleafError
    from looseleaf.memory.registry import RegisteredFile
    from looseleaf.memory.scope import Layer, Scope

    Outcome = TypeVar("Outcome")


MOST_USER_ID = 2**31 - 1  # of the column in the database


def resolve_agent(context: Context, where: Where) -> AgentRecord:
    """Find the agent that is meant: the one named, else the agent of the user who is named."""
    if where.user is None:
        return agent_of(context, where.agent)
    require_user(context, where.user)
    if where.agent or context.principal.agent_id:
        return agent_of(context, where.agent)
    return _choose_user_agent(context, where.user)


def find_acting_agent(context: Context) -> AgentRecord | None:
    """Find the agent through which a principal acts, or None for a person or a program."""
    agent_id, agent = context.principal.agent_id, context.acting_agent
    if agent is not None and agent.id == agent_id:
        return agent
    return context.parts.agents.resolve(agent_id) if agent_id else None


def _choose_user_agent(context: Context, user: int) -> AgentRecord:
    """Choose a user's agent: the default one if it is theirs, else the only active one."""
    candidates = [
        record
        for record in list_visible_agents(context)
        if record.owner == user and record.status == "active"
    ]
    default = [
        record
        for record in candidates
        if context.settings.default_agent in (record.slug, str(record.id))
    ]
    if len(candidates) > 1 and not default:
        raise AgentAmbiguous(tuple(record.slug for record in candidates))
    if not candidates:
        raise AgentMissing(
            "", tuple(record.slug for record in list_visible_agents(context)), user=user
        )
    record = (default or candidates)[0]
    authorize(context.principal, context.permission, record.shelf, owner=record.owner)
    return record


def require_user(context: Context, user: int) -> None:
    """Raise unless the principal may name this user, and the user exists."""
    lacks = find_user_requirement(context.principal, user)
    if lacks is not None:
        raise Forbidden(context.permission or "read", lacks)
    if not has_user(context, user):
        raise _missing_user(user)


def has_user(context: Context, user: int) -> bool:
    """Return whether a user exists: the default one, one with pages, or one with an account."""
    principal = context.principal
    # A local agent has the user id that its operator typed, which proves nothing.
    if not principal.is_local and principal.kind != AGENT and principal.user_id == user:
        return True
    if user == context.settings.default_user:
        return True
    if not 0 < user <= MOST_USER_ID:
        return False
    # The account comes last, since a page command opens no database unless it must.
    return bool(
        context.pages.list(Shelf("user", user)) or context.parts.accounts().users.find(user)
    )


def agent_of(context: Context, reference: str | int | None) -> AgentRecord:
    """Find an agent that the principal may see and run the operation on.

    An agent that they may not see is missing for them, like an agent that does not exist.
    """
    principal = context.principal
    if principal.is_local:
        return context.parts.agents.resolve(reference)
    record = _find_visible_agent(context, reference) if reference else _choose_own_agent(context)
    if record is None:
        raise AgentMissing(reference, tuple(agent.slug for agent in list_visible_agents(context)))
    authorize(principal, context.permission, record.shelf, owner=record.owner)
    return record


def list_visible_agents(context: Context) -> list[AgentRecord]:
    """List the agents that the principal may see."""
    role_on = context.principal.role_on
    return [
        record
        for record in context.parts.agents.records()
        if role_on(record.id, record.owner) is not None
    ]


def _find_visible_agent(context: Context, reference: str | int) -> AgentRecord | None:
    agent = context.acting_agent
    if agent is None or agent.id != reference:
        try:
            agent = context.parts.agents.resolve(reference)
        except AgentMissing:
            return None
    return agent if context.principal.role_on(agent.id, agent.owner) is not None else None


def _choose_own_agent(context: Context) -> AgentRecord | None:
    """Choose the agent that is meant when none is named.

    That is the agent of the token, the default agent, the only visible agent, or the only one
    that the principal owns.
    """
    reference = context.principal.agent_id or context.settings.default_agent
    record = _find_visible_agent(context, reference) if reference else None
    if record is not None or context.principal.agent_id:
        return record
    active = [agent for agent in list_visible_agents(context) if agent.status == "active"]
    own_agents = [agent for agent in active if agent.owner == context.principal.user_id]
    if len(active) > 1 and len(own_agents) != 1:
        raise AgentAmbiguous(tuple(agent.slug for agent in active))
    return next(iter(own_agents or active), None)


def shelf_of(context: Context, where: Where, layer: Layer) -> Shelf:
    """Find the shelf of a layer, if it is allowed; without an agent or user, the default one."""
    if layer == "agent":
        return resolve_agent(context, where).shelf
    if where.user is not None:
        require_user(context, where.user)
    if layer == "principal":
        # The user is the person, and not the owner of the agent; whoever sees the agent may ask.
        agent = agent_of(context.with_permission("read"), where.agent)
        shelf = Shelf(layer, user_of(context, where), agent.id)
        authorize(context.principal, context.permission, shelf, owner=agent.owner)
        return shelf
    shelf = Shelf("user", user_of(context, where)) if layer == "user" else Shelf(layer)
    authorize(context.principal, context.permission, shelf)
    return shelf


def user_of(context: Context, where: Where) -> int:
    """Find the user who is meant: the one named, the principal, the agent's owner, the default."""
    if where.user is not None:
        return where.user
    if not context.principal.is_local:
        return context.principal.user_id
    if where.agent is not None:
        return context.parts.agents.resolve(where.agent).owner
    return context.settings.default_user


def layer_of(where: Where, default: Layer) -> Layer:
    """Return the layer that `where` names, or the default."""
    layer = where.layer or default
    if layer not in LAYERS:
        raise InvalidName(layer, f"a layer is one of {', '.join(LAYERS)}")
    return layer


def scope_of(context: Context, file: str, where: Where) -> Scope:
    """Find the page that a filename means, if allowed: on the layer of `where`, or its own."""
    registered_file = context.pages.registry.get(file)
    layer = layer_of(where, registered_file.layer if registered_file else "agent")
    if context.principal.is_local:
        return _require_page_owner(context, shelf_of(context, where, layer).page(file))
    record = resolve_agent(context, where) if layer == "agent" else None
    shelf = record.shelf if record else shelf_of(context, where, layer)
    scope = _require_page_owner(context, shelf.page(file))
    _allow_file(context, scope, registered_file, owner=record.owner if record else 0)
    return scope


def _require_page_owner(context: Context, scope: Scope) -> Scope:
    """Refuse the page of a user who does not exist."""
    if scope.user_id and not has_user(context, scope.user_id):
        raise _missing_user(scope.user_id)
    return scope


def allow_page(context: Context, scope: Scope) -> None:
    """Raise unless the operation is allowed on this page."""
    _allow_file(context, scope, context.pages.registry.get(scope.filename))


def _allow_file(
    context: Context, scope: Scope, registered_file: RegisteredFile | None, *, owner: int = 0
) -> None:
    """Raise unless the operation is allowed on a page; `owner` is its agent's, if known."""
    if scope.agent_id and not owner:
        owner = context.parts.agents.resolve(scope.agent_id).owner
    authorize(context.principal, context.permission, scope.shelf, owner=owner, file=registered_file)
    journal = scope.layer == "agent" and is_in_journal(scope.filename)
    is_closed = not context.settings.daily_memory_enabled
    if journal and is_closed and context.permission in CHANGES:
        raise DailyMemoryOff


def require_possible(context: Context, permission: str) -> None:
    """Raise `Forbidden` if no page, agent or user could be named for which a call is allowed.

    A surface asks this before it reads the arguments of a call; the operation decides about them.
    """
    principal = context.principal
    lacks = find_general_requirement(principal, permission)
    if lacks is None:
        return
    if principal.agent_id:
        agents = [context.parts.agents.resolve(principal.agent_id)]
    else:
        agents = list_visible_agents(context)
    for agent in agents:
        if find_requirement(principal, permission, agent.shelf, owner=agent.owner) is None:
            return
    raise Forbidden(permission, lacks)


def sources_of(context: Context, user: int | None = None) -> TextSources:
    """Return the sources of generated pages that the principal may reach."""
    from looseleaf.catalog.generated_pages import TextSources

    def find_page(filename: str, agent: int | None, layer: Layer | None) -> Scope:
        return scope_of(context, filename, Where(agent, user, layer))

    parts = context.parts
    return TextSources(
        context.settings,
        parts.agents,
        context.pages,
        parts.composed_sections,
        context.clock,
        find_page,
    )


def require_outcome(filename: str, outcome: Outcome | Conflict) -> Outcome:
    """Return the outcome of a write, or raise `Conflicted` if the page has another version."""
    if isinstance(outcome, Conflict):
        raise Conflicted(filename, outcome.expected, outcome.actual)
    return outcome


def find_operation(context: Context, name: str) -> Operation:
    """Find an operation of a workspace, plugins' too, by its name, or raise `OperationMissing`."""
    # No plugin can take a built-in name, so a built-in operation is found without the registry.
    operation = CATALOG.get(name)
    return operation if operation is not None else context.parts.operations().find(name)


def _missing_user(user_id: int) -> LooseleafError:
    from looseleaf.errors.operations import UserMissing

    return UserMissing(user_id)
