"""Who may do what: capabilities, roles, the one who acts, and the one decision."""

from __future__ import annotations

from looseleaf.errors import Forbidden
from looseleaf.values import changed, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from looseleaf.memory.registry import RegisteredFile
    from looseleaf.memory.scope import Shelf

CAPABILITIES = (
    "manage_options",
    "manage_agents",
    "manage_flows",
    "manage_settings",
    "chat",
    "view_logs",
)
EVERYTHING = "manage_options"  # who has it has the others too
AGENT_CEILING = frozenset(("chat",))  # what an agent may do besides its role, unless told otherwise
WRITE_USER_PAGES = "write_user_pages"  # a right of a credential: to append to its user's pages
CREDENTIAL_RIGHTS = (*CAPABILITIES, WRITE_USER_PAGES)  # what a ceiling may name
ROLES = ("viewer", "operator", "admin")  # on one agent; each may do what those before it may
LOCAL, TOKEN, PASSWORD, SESSION = "local", "token", "application password", "session"
AGENT = "agent"  # a model on this machine, started by its operator

# The role it takes on an agent's pages. One's own pages take the same of a credential.
_ROLE_FOR = {
    "read": "viewer",
    "history": "viewer",
    "chat": "viewer",
    "append": "operator",
    "write": "operator",
    "list_tokens": "operator",
    "identity": "admin",
    "agents": "admin",
    "grants": "admin",
    "tokens": "admin",
}
# The capability it takes where no agent's and no user's pages are meant.
_CAPABILITY_FOR = {
    "append": EVERYTHING,
    "write": EVERYTHING,
    "identity": EVERYTHING,
    "agents": "manage_agents",
    "grants": "manage_agents",
    "tokens": EVERYTHING,
    "list_tokens": EVERYTHING,
    "operate": EVERYTHING,
    "users": EVERYTHING,
    "settings": "manage_settings",
    "chat": "chat",
    "audit": "view_logs",
}
_OF_SHARED_PAGES = ("read", "history")  # anyone who is someone may
_OF_A_USER = ("read", "history", "append", "write", "tokens", "list_tokens")
CHANGES = ("append", "write", "identity")
PERMISSIONS = tuple(sorted({*_ROLE_FOR, *_CAPABILITY_FOR}))


@value
class Principal:
    """The one who acts: a user, by what they showed, and how far that reaches."""

    kind: str  # local, token, application password, session or agent
    user_id: int
    name: str = ""
    capabilities: frozenset[str] = frozenset()  # the user's own
    grants: Mapping[int, str] = {}  # the user's role by agent id
    agent_id: int = 0  # the only agent it reaches; 0 for all of the user's
    role: str = "admin"  # never more than this on any agent
    ceiling: frozenset[str] | None = None  # never more than these capabilities
    credential: str = ""  # the public id of the token, password or session
    is_model: bool = False  # whether a model chooses what is done, with a person's own credential
    is_attended: bool = False  # whether the person whose rights it has is present

    @property
    def is_local(self) -> bool:
        """Whether it is the operator on this machine, who may do everything."""
        return self.kind == LOCAL

    @property
    def is_agent(self) -> bool:
        """Whether an agent acts and not a person: it is bound to one, or a model chooses."""
        return self.is_model or bool(self.agent_id) or self.kind == AGENT

    def can(self, capability: str) -> bool:
        """Say whether the user has a capability and the credential lets it through."""
        if self.is_local:
            return True
        wanted = {capability, EVERYTHING}
        allowed = self.ceiling is None or bool(wanted & self.ceiling)
        return capability in CAPABILITIES and bool(wanted & self.capabilities) and allowed

    def role_on(self, agent_id: int, owner: int) -> str | None:
        """Give the role on an agent that belongs to `owner`; None where it is not even seen."""
        if self.is_local:
            return "admin"
        if self.agent_id and self.agent_id != agent_id:
            return None
        full = owner == self.user_id or self.can("manage_agents")
        role = "admin" if full else self.grants.get(agent_id)
        return lower(role, self.role) if role in ROLES and self.role in ROLES else None


LOCAL_ADMINISTRATOR = Principal(LOCAL, 0, "operator")


def confined(principal: Principal) -> Principal:
    """Give a principal as a model speaks for it: it writes pages, and changes nobody's identity.

    Who an agent is and what all must obey is for people to decide, however much the one may do
    whose conversation it is: a page that the model has read may have told it otherwise.
    """
    most = AGENT_CEILING | {WRITE_USER_PAGES}
    ceiling = AGENT_CEILING if principal.ceiling is None else principal.ceiling & most
    role = lower(principal.role, "operator") if principal.role in ROLES else principal.role
    return changed(principal, role=role, ceiling=ceiling, is_model=True)


def confine_model(principal: Principal) -> Principal:
    """Give a principal as a model with the small tool set speaks for it, on every transport.

    It keeps the reach to the agents that its principal reaches; bound to one, to that one.
    """
    narrowed = confined(principal)
    if not principal.can("manage_agents"):
        return narrowed
    return changed(narrowed, ceiling=(narrowed.ceiling or AGENT_CEILING) | {"manage_agents"})


def through(principal: Principal, agent_id: int, *, user: int = 0, name: str = "") -> Principal:
    """Give a principal as it acts through an agent: its own rights, on this agent alone.

    The operator becomes an agent of `user`, so that what is asked of agents is asked of it.
    """
    if principal.is_local:
        return Principal(AGENT, user, name, frozenset(CAPABILITIES), agent_id=agent_id)
    if agent_id and principal.agent_id not in (0, agent_id):
        raise Forbidden("read", "a credential that is not bound to another agent")
    return changed(principal, agent_id=agent_id or principal.agent_id)


def lower(role: str, other: str) -> str:
    """Give the role of the two that may do less."""
    return min(role, other, key=ROLES.index)


def reaches(role: str | None, needed: str) -> bool:
    """Say whether a role may do what the other may."""
    return role in ROLES and ROLES.index(role) >= ROLES.index(needed)


def authorize(
    principal: Principal,
    permission: str,
    shelf: Shelf | None = None,
    *,
    owner: int = 0,
    file: RegisteredFile | None = None,
) -> None:
    """Raise `Forbidden` unless the principal has a permission on a shelf and on a page of it.

    `owner` is whose agent the shelf belongs to; `file` is what is registered of the page. Without a
    shelf the whole workspace is meant.
    """
    needed = missing(principal, permission, shelf, owner=owner, file=file)
    if needed is not None:
        raise Forbidden(permission, needed)


def missing(
    principal: Principal,
    permission: str,
    shelf: Shelf | None = None,
    *,
    owner: int = 0,
    file: RegisteredFile | None = None,
) -> str | None:
    """Say what the principal lacks; None where nothing is missing."""
    if principal.is_local:
        return None
    if permission not in PERMISSIONS:
        return "a permission that exists"
    if permission == "tokens" and (principal.kind != SESSION or principal.is_agent):
        # Whoever steals a token must not make another one that outlives it.
        return "someone who has signed in; tokens make no tokens"
    lacks = (
        _on_workspace(principal, permission, shelf)
        if shelf is None or shelf.layer in ("shared", "network")
        else _on_agent(principal, permission, shelf.agent_id, owner)
        if shelf.layer == "agent"
        else _on_user(principal, permission, shelf.user_id)
    )
    if lacks is None and file is not None and permission in CHANGES:
        return _to_edit(principal, file, shelf, owner)
    return lacks


def _on_workspace(principal: Principal, permission: str, shelf: Shelf | None) -> str | None:
    if permission in _OF_SHARED_PAGES:
        return None
    capability = _CAPABILITY_FOR.get(permission)
    if capability is None:
        return "an agent or a user that it is about"
    if shelf is not None and permission not in CHANGES:
        capability = EVERYTHING
    if not principal.can(capability):
        return f"the capability {capability}"
    # A credential that is for one agent, or for reading, is not for the workspace.
    if permission in ("agents", "grants", "tokens", "users") and principal.agent_id:
        return "a credential that is not bound to one agent"
    writes = permission not in ("audit", "list_tokens")
    if writes and not reaches(principal.role, "operator"):
        return "a credential that is not for reading only"
    return None


def _on_agent(principal: Principal, permission: str, agent_id: int, owner: int) -> str | None:
    needed = _ROLE_FOR.get(permission)
    if needed is None:
        return _on_workspace(principal, permission, None)
    if not reaches(principal.role_on(agent_id, owner), needed):
        return f"the role {needed} on this agent"
    if permission == "grants" and principal.agent_id:
        return "a credential that is not bound to one agent"
    # To talk costs money, and a model may write: a role alone is not enough.
    return _on_workspace(principal, permission, None) if permission == "chat" else None


def lacks_to_name(principal: Principal, user_id: int) -> str | None:
    """Say what a principal lacks to act on a user's pages and agents; None for one's own."""
    if principal.is_local or principal.user_id == user_id:
        return None
    if principal.agent_id or not principal.can("manage_agents"):
        return "the capability manage_agents, since these are another user's"
    return None


def _on_user(principal: Principal, permission: str, user_id: int) -> str | None:
    if permission not in _OF_A_USER:
        return _on_workspace(principal, permission, None)
    if principal.user_id != user_id:
        if (lacks := lacks_to_name(principal, user_id)) is not None:
            return lacks
        if permission in ("tokens", "list_tokens") and not principal.can(EVERYTHING):
            return f"the capability {EVERYTHING}, since these are another user's"
    needed = "operator" if permission in ("append", "write", "tokens") else "viewer"
    if not reaches(principal.role, needed):
        return f"a credential of the role {needed}"
    return _agent_lacks(principal, permission) if permission in CHANGES else None


def _agent_lacks(principal: Principal, permission: str) -> str | None:
    """Say what an agent lacks to change a user's pages; None for a person.

    These pages stand in the prompts of all agents of the user, so that one agent could speak to the
    others through them.
    """
    if not principal.is_agent:
        return None
    if permission != "append":
        return "a person to replace a user's pages; an agent appends to them (append_agent_file)"
    if principal.is_attended or WRITE_USER_PAGES in (principal.ceiling or ()):
        return None
    return (
        f"the person's presence, or a token with the right {WRITE_USER_PAGES}, to add to a user's "
        "pages; write to a page of the agent, such as MEMORY.md, and ask the person to copy it"
    )


def _to_edit(
    principal: Principal, file: RegisteredFile, shelf: Shelf | None, owner: int
) -> str | None:
    """Say what a registered page asks of its editors beyond its shelf: a role or a capability."""
    if not isinstance(file.editable, str):
        return None
    if file.editable in ROLES:
        agent = shelf is not None and shelf.layer == "agent"
        role = principal.role_on(shelf.agent_id, owner) if agent and shelf else principal.role
        return None if reaches(role, file.editable) else f"the role {file.editable} on this agent"
    return None if principal.can(file.editable) else f"the capability {file.editable}"
