"""What an operation works with: the rooms of a workspace, and who acts through which surface."""

from __future__ import annotations

from looseleaf.agents.access import AGENT, CHANGES, LOCAL_ADMINISTRATOR, authorize, lacks_to_name
from looseleaf.errors import (
    AgentAmbiguous,
    AgentMissing,
    Conflicted,
    DailyMemoryOff,
    Forbidden,
    InvalidArgument,
    InvalidName,
    Unavailable,
    UserMissing,
)
from looseleaf.folders import fold
from looseleaf.memory.scope import LAYERS, Shelf
from looseleaf.memory.store import Change, Conflict, exactly
from looseleaf.values import changed, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal, Protocol, TypeVar

    from looseleaf.agents.access import Principal
    from looseleaf.agents.accounts import Accounts, Event
    from looseleaf.agents.directory import Agents
    from looseleaf.agents.record import AgentRecord
    from looseleaf.chat.session import Chats
    from looseleaf.memory.composed import ComposedSections
    from looseleaf.memory.find import Index
    from looseleaf.memory.history import History
    from looseleaf.memory.pages import MemoryPages
    from looseleaf.memory.scope import Layer, Scope
    from looseleaf.memory.store import Precondition
    from looseleaf.memory.templates import PageStarters
    from looseleaf.models.opening import Models
    from looseleaf.operations.generated import GeneratedPages
    from looseleaf.operations.registry import Operations
    from looseleaf.prompt.chain import Chain
    from looseleaf.settings import Settings

    Outcome = TypeVar("Outcome")
else:
    Protocol = object

_NAMING_SURFACES = ("rest", "mcp")  # between their reading and writing others have time to write


def unheard(_what: str, _error: Exception) -> None:
    """Tell nobody; a workspace tells the operator."""


def always() -> bool:
    """Say yes: what is done by the operator or in Python ends by itself."""
    return True


def unseen(_what: str, _done: int, _total: int) -> None:
    """Show nobody how far it is."""


@value
class Context:
    """A workspace's rooms, and the one who acts."""

    settings: Settings
    agents: Agents
    pages: MemoryPages
    history: History
    composed: Callable[[], ComposedSections]
    starters: Callable[[], PageStarters]
    index: Callable[[], Index | None]
    clock: Callable[[], float]
    chain: Callable[[], Chain]
    generated: Callable[[], GeneratedPages] | None = None
    actor: str = ""
    surface: str = "library"
    reason: str = ""
    operations: Callable[[], Operations] | None = None  # with those of plugins
    accounts: Callable[[], Accounts] | None = None  # opens the database, so only when needed
    add_event: Callable[[Event], None] | None = None  # to the audit
    chats: Callable[[], Chats] | None = None  # opens the database, too
    models: Callable[[], Models] | None = None
    model_for: Callable[[int, str], str | None] | None = None  # by agent and mode
    principal: Principal = LOCAL_ADMINISTRATOR
    permission: str = ""  # of the operation that runs
    precondition: Precondition | None = None  # of the page that a request changes, by its headers
    report: Callable[[str, Exception], None] = unheard
    progress: Callable[[str, int, int], None] = unseen
    is_current: Callable[[], bool] = always  # whether the credential still counts
    configured: Settings | None = None  # as the file has them, where others were made while running

    @property
    def is_remote(self) -> Literal[False]:
        """Whether operations are to be run on a server instead."""
        return False

    def during(self, permission: str) -> Context:
        """Give the same context to an operation that has this permission."""
        same = self.principal.is_local or self.permission == permission
        return self if same else changed(self, permission=permission)

    def allow(self) -> None:
        """Raise `Forbidden` unless the operation is allowed on the whole workspace."""
        authorize(self.principal, self.permission)

    def change(
        self,
        operation: str,
        *,
        if_match: str | None = None,
        allow_shrink: bool = False,
        reason: str = "",
    ) -> Change:
        """Say who is about to change a page, and how, and which version may be replaced."""
        precondition = self.precondition
        if if_match is not None:
            if precondition is not None and precondition != exactly(if_match):
                raise InvalidArgument("if_match", "the headers of the request say otherwise")
            precondition = exactly(if_match)
        return Change(
            operation,
            self.actor,
            self.surface,
            reason or self.reason,
            precondition,
            self.settings.require_if_match and self.surface in _NAMING_SURFACES,
            allow_shrink,
        )


@value
class Where:
    """Whose page is meant: an agent by id or slug, a user (and their agent), a layer by name."""

    agent: str | int | None = None
    user: int | None = None
    layer: str | None = None


HERE = Where()
MOST_USER_ID = 2**31 - 1  # of the column in the database


def accounts_of(context: Context) -> Accounts:
    """Open the accounts of the workspace."""
    if context.accounts is None:
        raise Unavailable("The database", "this workspace was opened without one")
    return context.accounts()


def chats_of(context: Context) -> Chats:
    """Open the conversations of the workspace."""
    if context.chats is None:
        raise Unavailable("The database", "this workspace was opened without one")
    return context.chats()


def agent_meant(context: Context, where: Where) -> AgentRecord:
    """Find the agent that is meant: the one named, else the agent of the user who is named."""
    if where.user is None:
        return agent_of(context, where.agent)
    require_user(context, where.user)
    if where.agent or context.principal.agent_id:
        return agent_of(context, where.agent)
    return _agent_of_user(context, where.user)


def _agent_of_user(context: Context, user: int) -> AgentRecord:
    """Choose a user's agent: the default one if it is theirs, else the only active one."""
    owned = [one for one in visible_agents(context) if one.owner == user and one.status == "active"]
    default = [one for one in owned if context.settings.default_agent in (one.slug, str(one.id))]
    if len(owned) > 1 and not default:
        raise AgentAmbiguous(tuple(one.slug for one in owned))
    if not owned:
        raise AgentMissing("", tuple(one.slug for one in visible_agents(context)), user=user)
    record = (default or owned)[0]
    authorize(context.principal, context.permission, record.shelf, owner=record.owner)
    return record


def require_user(context: Context, user: int) -> None:
    """Raise unless the one who acts may name this user, and the user exists."""
    lacks = lacks_to_name(context.principal, user)
    if lacks is not None:
        raise Forbidden(context.permission or "read", lacks)
    if not user_exists(context, user):
        raise UserMissing(user)


def user_exists(context: Context, user: int) -> bool:
    """Say whether there is such a user: the default one, one with pages, or one with an account."""
    principal = context.principal
    # A local agent has the user id that its operator typed, which proves nothing.
    if not principal.is_local and principal.kind != AGENT and principal.user_id == user:
        return True
    if user == context.settings.default_user:
        return True
    if not 0 < user <= MOST_USER_ID or context.accounts is None:
        return False
    # The account comes last, since a page command opens no database unless it must.
    return bool(context.pages.list(Shelf("user", user)) or context.accounts().users.find(user))


def agent_of(context: Context, reference: str | int | None) -> AgentRecord:
    """Find an agent that the one who acts may see and do this to.

    An agent they may not see is missing for them, as one that is not there.
    """
    principal = context.principal
    if principal.is_local:
        return context.agents.resolve(reference)
    record = _seen(context, reference) if reference else _own(context)
    if record is None:
        raise AgentMissing(reference, tuple(one.slug for one in visible_agents(context)))
    authorize(principal, context.permission, record.shelf, owner=record.owner)
    return record


def visible_agents(context: Context) -> list[AgentRecord]:
    """List the agents that the one who acts may see."""
    role_on = context.principal.role_on
    return [one for one in context.agents.records() if role_on(one.id, one.owner) is not None]


def _seen(context: Context, reference: str | int) -> AgentRecord | None:
    try:
        record = context.agents.resolve(reference)
    except AgentMissing:
        return None
    return record if context.principal.role_on(record.id, record.owner) is not None else None


def _own(context: Context) -> AgentRecord | None:
    """Choose the agent that is meant when none is named.

    That is the token's, the default, the only one they may see, or the only one they own.
    """
    told = context.principal.agent_id or context.settings.default_agent
    record = _seen(context, told) if told else None
    if record is not None or context.principal.agent_id:
        return record
    active = [one for one in visible_agents(context) if one.status == "active"]
    owned = [one for one in active if one.owner == context.principal.user_id]
    if len(active) > 1 and len(owned) != 1:
        raise AgentAmbiguous(tuple(one.slug for one in active))
    return next(iter(owned or active), None)


def shelf_of(context: Context, where: Where, layer: Layer) -> Shelf:
    """Find the shelf of a layer, if it is allowed; without an agent or user, the default one."""
    if layer == "agent":
        return agent_meant(context, where).shelf
    if where.user is not None:
        require_user(context, where.user)
    shelf = Shelf("user", user_of(context, where)) if layer == "user" else Shelf(layer)
    authorize(context.principal, context.permission, shelf)
    return shelf


def user_of(context: Context, where: Where) -> int:
    """Find the user who is meant: as told, the one who acts, the agent's owner, the default one."""
    if where.user is not None:
        return where.user
    if not context.principal.is_local:
        return context.principal.user_id
    if where.agent is not None:
        return context.agents.resolve(where.agent).owner
    return context.settings.default_user


def layer_of(where: Where, otherwise: Layer) -> Layer:
    """Give the layer that is told, or the other one."""
    layer = where.layer or otherwise
    if layer not in LAYERS:
        raise InvalidName(layer, f"a layer is one of {', '.join(LAYERS)}")
    return layer


def scope_of(context: Context, file: str, where: Where) -> Scope:
    """Find the page that a filename means, if it is allowed: on the layer told or its own."""
    layer = layer_of(where, context.pages.registry.layer_of(file))
    if context.principal.is_local:
        return _owned(context, shelf_of(context, where, layer).page(file))
    record = agent_meant(context, where) if layer == "agent" else None
    shelf = record.shelf if record else shelf_of(context, where, layer)
    scope = _owned(context, shelf.page(file))
    allow_page(context, scope, owner=record.owner if record else 0)
    return scope


def _owned(context: Context, scope: Scope) -> Scope:
    """Refuse the page of a user who does not exist, however the user came to be meant."""
    if scope.layer == "user" and not user_exists(context, scope.user_id):
        raise UserMissing(scope.user_id)
    return scope


def allow_page(context: Context, scope: Scope, *, owner: int = 0) -> None:
    """Raise unless the operation is allowed on this page; `owner` is its agent's, if known."""
    registered = context.pages.registry.get(scope.filename)
    if scope.agent_id and not owner:
        owner = context.agents.resolve(scope.agent_id).owner
    authorize(context.principal, context.permission, scope.shelf, owner=owner, file=registered)
    journal = scope.layer == "agent" and fold(scope.filename).startswith("daily/")
    closed = not context.settings.daily_memory_enabled
    if journal and closed and context.permission in CHANGES:
        raise DailyMemoryOff


def settled(filename: str, outcome: Outcome | Conflict) -> Outcome:
    """Give the outcome of a write, or raise `Conflicted` where the page had moved on."""
    if isinstance(outcome, Conflict):
        raise Conflicted(filename, outcome.expected, outcome.actual)
    return outcome
