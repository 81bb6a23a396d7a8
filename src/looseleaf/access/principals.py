"""Principals: their capabilities and roles, and the one decision about their rights."""

from __future__ import annotations

from looseleaf.errors import Forbidden
from looseleaf.memory import provenance
from looseleaf.values import FrozenDict, built_once, replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from looseleaf.memory.provenance import ActorKind
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
EVERYTHING = "manage_options"  # it includes all other capabilities
AGENT_CEILING = frozenset(("chat",))  # the capabilities of an agent, by default
# Capabilities that a tool policy may add, for a principal who has them.
POLICY_CAPABILITIES = frozenset(("manage_flows",))
WRITE_USER_PAGES = "write_user_pages"  # a right of a credential: to append to its user's pages
CREDENTIAL_RIGHTS = (*CAPABILITIES, WRITE_USER_PAGES)  # the rights that a ceiling may name
ROLES = ("viewer", "operator", "admin")  # on one agent; each includes those before it
LOCAL, TOKEN, PASSWORD, SESSION = "local", "token", "application password", "session"
AGENT = "agent"  # a model on this machine, started by its operator

# The role that each permission requires on an agent's pages.
_ROLE_FOR = {
    "read": "viewer",
    "history": "viewer",
    "chat": "viewer",
    "flows": "operator",
    "append": "operator",
    "write": "operator",
    "list_tokens": "operator",
    "identity": "admin",
    "agents": "admin",
    "grants": "admin",
    "tokens": "admin",
}
# The capability that each permission requires in the whole workspace.
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
    "flows": "manage_flows",
    "audit": "view_logs",
}
_OF_SHARED_PAGES = ("read", "history")  # for every principal
_OF_A_USER = ("read", "history", "append", "write", "tokens", "list_tokens")
CHANGES = ("append", "write", "identity")
PERMISSIONS = tuple(sorted({*_ROLE_FOR, *_CAPABILITY_FOR}))


@value(kw_only=True)
class Principal:
    """The identity behind a call: a user, limited by the credential."""

    kind: str  # local, token, application password, session or agent
    user_id: int
    name: str = ""
    capabilities: frozenset[str] = frozenset()  # the user's own
    grants: Mapping[int, str] = FrozenDict()  # the user's role by agent id
    agent_id: int = 0  # the only agent it reaches; 0 for all of the user's
    agent_owner: int = 0  # the owner of that agent; each operation looks it up
    role: str = "admin"  # never more than this on any agent
    ceiling: frozenset[str] | None = None  # never more than these capabilities
    credential: str = ""  # the public id of the token, password or session
    is_model: bool = False  # whether a model chooses what is done, with a person's own credential
    is_attended: bool = False  # whether the person whose rights it has is present

    @built_once
    def is_local(self) -> bool:
        """Whether it is the operator on this machine, who may do everything."""
        return self.kind == LOCAL

    @property
    def is_agent(self) -> bool:
        """Whether an agent acts and not a person: it is bound to one, or a model chooses."""
        return self.is_model or bool(self.agent_id) or self.kind == AGENT

    @property
    def actor_kind(self) -> ActorKind:
        """The kind of actor that the principal is; a token may belong to a model or to a script."""
        is_agent = self.is_agent or self.kind == TOKEN
        return provenance.AGENT if is_agent else provenance.PERSON

    def can(self, capability: str) -> bool:
        """Return whether the user has a capability and the credential lets it through."""
        if self.is_local:
            return True
        sufficient = {capability, EVERYTHING}
        is_within = self.ceiling is None or bool(sufficient & self.ceiling)
        return capability in CAPABILITIES and bool(sufficient & self.capabilities) and is_within

    def role_on(self, agent_id: int, owner: int) -> str | None:
        """Return the role on an agent that belongs to `owner`, or None if it sees no such agent."""
        if self.is_local:
            return "admin"
        if self.agent_id and self.agent_id != agent_id:
            return None
        is_owner = owner == self.user_id or self.can("manage_agents")
        role = "admin" if is_owner else self.grants.get(agent_id)
        return lower_role(role, self.role) if role in ROLES and self.role in ROLES else None


LOCAL_ADMINISTRATOR = Principal(kind=LOCAL, user_id=0, name="operator")


def confine(principal: Principal, extra: frozenset[str] = frozenset()) -> Principal:
    """Limit a principal for a model, which writes pages and changes nobody's identity.

    People decide about the identity of an agent and the rules for all agents, whatever the rights
    of the person in the conversation: a page that the model has read may give it other orders.
    `extra` are capabilities that the agent's tool policy names; the model gets those of them that
    its principal has and that a policy may give (`POLICY_CAPABILITIES`).
    """
    ceiling = AGENT_CEILING | (extra & POLICY_CAPABILITIES)
    if principal.ceiling is not None:
        is_whole = EVERYTHING in principal.ceiling
        limit = principal.ceiling | POLICY_CAPABILITIES if is_whole else principal.ceiling
        ceiling = limit & (ceiling | {WRITE_USER_PAGES})
    role = lower_role(principal.role, "operator") if principal.role in ROLES else principal.role
    return replace(principal, role=role, ceiling=ceiling, is_model=True)


def confine_model(principal: Principal) -> Principal:
    """Limit a principal for a model with the small tool set, on every transport.

    The model reaches the same agents as its principal.
    """
    model = confine(principal)
    if not principal.can("manage_agents"):
        return model
    return replace(model, ceiling=(model.ceiling or AGENT_CEILING) | {"manage_agents"})


def find_policy_capability(permission: str) -> frozenset[str]:
    """Find the capability for a permission that a tool policy may give to a model, if any."""
    capability = _CAPABILITY_FOR.get(permission, "")
    return POLICY_CAPABILITIES & {capability}


def act_through(principal: Principal, agent_id: int, *, user: int = 0, name: str = "") -> Principal:
    """Limit a principal to one agent, with its own rights.

    The operator becomes an agent of `user`, so that the rules for agents apply.
    """
    if principal.is_local:
        return Principal(
            kind=AGENT,
            user_id=user,
            name=name,
            capabilities=frozenset(CAPABILITIES),
            agent_id=agent_id,
        )
    if agent_id and principal.agent_id not in (0, agent_id):
        raise Forbidden("read", "a credential that is not bound to another agent")
    return replace(principal, agent_id=agent_id or principal.agent_id)


def lower_role(role: str, other_role: str) -> str:
    """Return the lower of two roles."""
    return min(role, other_role, key=ROLES.index)


def has_role(role: str | None, required_role: str) -> bool:
    """Return whether a role includes the required one."""
    return role in ROLES and ROLES.index(role) >= ROLES.index(required_role)


def authorize(
    principal: Principal,
    permission: str,
    shelf: Shelf | None = None,
    *,
    owner: int = 0,
    file: RegisteredFile | None = None,
) -> None:
    """Raise `Forbidden` unless the principal has a permission on a shelf and on a page of it.

    `owner` owns the agent of the shelf; `file` is the registered file of the page. Without a shelf,
    the permission is for the whole workspace.
    """
    requirement = find_requirement(principal, permission, shelf, owner=owner, file=file)
    if requirement is not None:
        raise Forbidden(permission, requirement)


def find_requirement(
    principal: Principal,
    permission: str,
    shelf: Shelf | None = None,
    *,
    owner: int = 0,
    file: RegisteredFile | None = None,
) -> str | None:
    """Return what the principal lacks, or None if nothing is missing."""
    if principal.is_local:
        return None
    if permission not in PERMISSIONS:
        return "a permission that exists"
    if permission == "tokens" and (principal.kind != SESSION or principal.is_agent):
        # A stolen token must not create another one that outlives it.
        return "someone who has signed in; tokens make no tokens"
    requirement = (
        _find_workspace_requirement(principal, permission, shelf)
        if shelf is None or shelf.layer in ("shared", "network")
        else _find_agent_requirement(principal, permission, shelf.agent_id, owner)
        if shelf.layer == "agent"
        else _find_principal_page_requirement(principal, permission, shelf, owner)
        if shelf.layer == "principal"
        else _find_user_page_requirement(principal, permission, shelf.user_id)
    )
    if requirement is None and file is not None and permission in CHANGES:
        return _find_edit_requirement(principal, file, shelf, owner)
    return requirement


def find_general_requirement(principal: Principal, permission: str) -> str | None:
    """Return what a principal lacks for a permission outside of agents: on its user and the rest.

    None means that some call may be allowed, whatever it names.
    """
    own_pages = _find_user_page_requirement(principal, permission, principal.user_id)
    if principal.is_local or own_pages is None or permission in _OF_SHARED_PAGES:
        return None
    return _find_workspace_requirement(principal, permission, None)


def _find_workspace_requirement(
    principal: Principal, permission: str, shelf: Shelf | None
) -> str | None:
    if permission in _OF_SHARED_PAGES:
        return None
    capability = _CAPABILITY_FOR.get(permission)
    if capability is None:
        return "an agent or a user that the request names"
    if shelf is not None and permission not in CHANGES:
        capability = EVERYTHING
    if not principal.can(capability):
        return f"the capability {capability}"
    # A credential that is for one agent, or for reading, is not for the workspace.
    if permission in ("agents", "grants", "tokens", "users") and principal.agent_id:
        return "a credential that is not bound to one agent"
    is_change = permission not in ("audit", "list_tokens")
    if is_change and not has_role(principal.role, "operator"):
        return "a credential that is not for reading only"
    return None


def _find_agent_requirement(
    principal: Principal, permission: str, agent_id: int, owner: int
) -> str | None:
    required_role = _ROLE_FOR.get(permission)
    if required_role is None:
        return _find_workspace_requirement(principal, permission, None)
    if not has_role(principal.role_on(agent_id, owner), required_role):
        return f"the role {required_role} on this agent"
    if permission == "grants" and principal.agent_id:
        return "a credential that is not bound to one agent"
    # A conversation or a flow costs money, and its model may write: a role alone is not enough.
    if permission in ("chat", "flows"):
        return _find_workspace_requirement(principal, permission, None)
    return None


def find_user_requirement(principal: Principal, user_id: int) -> str | None:
    """Return what a principal lacks to act on a user's pages and agents, or None for its own."""
    if principal.is_local or principal.user_id == user_id:
        return None
    if principal.agent_id or not principal.can("manage_agents"):
        return "the capability manage_agents, since these are another user's"
    return None


def _find_user_page_requirement(principal: Principal, permission: str, user_id: int) -> str | None:
    if permission not in _OF_A_USER:
        return _find_workspace_requirement(principal, permission, None)
    if principal.user_id != user_id:
        if (requirement := find_user_requirement(principal, user_id)) is not None:
            return requirement
        if permission in ("tokens", "list_tokens") and not principal.can(EVERYTHING):
            return f"the capability {EVERYTHING}, since these are another user's"
    required_role = "operator" if permission in ("append", "write", "tokens") else "viewer"
    if not has_role(principal.role, required_role):
        return f"a credential of the role {required_role}"
    if permission not in CHANGES:
        return None
    return _find_agent_write_requirement(principal, permission, user_id)


def _find_principal_page_requirement(
    principal: Principal, permission: str, shelf: Shelf, owner: int
) -> str | None:
    """Return what is missing for the pages of one agent about one user: that person's alone.

    Whoever may talk to an agent may read and change what it knows about them. For anybody else it
    takes a person who manages agents: no model reaches another person's pages.
    """
    if permission not in ("read", "history", "append", "write"):
        return _find_agent_requirement(principal, permission, shelf.agent_id, owner)
    if principal.user_id != shelf.user_id:
        if principal.is_agent:
            return "that person themselves, since these pages are about another person"
        if (requirement := find_user_requirement(principal, shelf.user_id)) is not None:
            return requirement
    if principal.role_on(shelf.agent_id, owner) is None:
        return "the role viewer on this agent"
    required_role = "operator" if permission in CHANGES else "viewer"
    if not has_role(principal.role, required_role):
        return f"a credential of the role {required_role}"
    return None


def _find_agent_write_requirement(
    principal: Principal, permission: str, user_id: int
) -> str | None:
    """Return what an agent lacks to change a user's pages, or None for a person.

    These pages stand in the prompts of all agents of the user, so that one agent could influence
    the others through them; the agent of somebody else never does.
    """
    if not principal.is_agent:
        return None
    if principal.agent_id and principal.agent_owner != user_id:
        return "an agent of the same user, since these pages stand in the prompts of the user's own"
    if permission != "append":
        return "a person to replace a user's pages; an agent appends to them (append_agent_file)"
    if principal.is_attended or WRITE_USER_PAGES in (principal.ceiling or ()):
        return None
    return (
        f"the person's presence, or a token with the right {WRITE_USER_PAGES}, to add to a user's "
        "pages; write to a page of the agent, such as MEMORY.md, and ask the person to copy it"
    )


def _find_edit_requirement(
    principal: Principal, file: RegisteredFile, shelf: Shelf | None, owner: int
) -> str | None:
    """Return the role or capability that a registered page asks of its editors beyond its shelf."""
    if not isinstance(file.editable, str):
        return None
    if file.editable in ROLES:
        is_on_agent = shelf is not None and shelf.layer == "agent"
        role = principal.role_on(shelf.agent_id, owner) if is_on_agent and shelf else principal.role
        return None if has_role(role, file.editable) else f"the role {file.editable} on this agent"
    return None if principal.can(file.editable) else f"the capability {file.editable}"
