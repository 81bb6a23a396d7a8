"""Users, and their roles on agents."""

from __future__ import annotations

from looseleaf.access.accounts import USER_STATUSES, Grant, User
from looseleaf.access.authentication import hash_password
from looseleaf.access.principals import CAPABILITIES, ROLES, find_requirement
from looseleaf.catalog.context import build_event
from looseleaf.catalog.declaration import operation
from looseleaf.catalog.new_ids import find_free_user_id
from looseleaf.catalog.resolution import agent_of, list_visible_agents
from looseleaf.errors import Forbidden, NotFound
from looseleaf.errors.operations import InvalidUser, UserMissing
from looseleaf.memory.hidden_characters import find_invisible
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context

_LEAST_PASSWORD = 12
_MOST_NAME = 200


@value(kw_only=True)
class UserInfo:
    """A user as others see them."""

    id: int
    login: str
    name: str
    email: str
    capabilities: tuple[str, ...]
    status: str
    created: float
    password: bool  # whether there is one


@value
class GrantInfo:
    """A role on an agent, with the names of both."""

    agent: str
    agent_id: int
    user: str
    user_id: int
    role: str


@operation("looseleaf/list-users", permission="users", categories=("users",), read_only=True)
def list_users(context: Context) -> list[UserInfo]:
    """List every user, by id."""
    context.allow()
    return [describe_user(user) for user in context.parts.accounts().users.list()]


@operation("looseleaf/show-user", permission="users", categories=("users",), read_only=True)
def show_user(context: Context, user: str | int) -> UserInfo:
    """Show one user, found by id or login.

    Arguments:
        user: The user to show, by id or login.
    """
    context.allow()
    return describe_user(resolve_user(context, user))


@operation("looseleaf/create-user", permission="users", categories=("users",))
def create_user(
    context: Context,
    login: str,
    *,
    name: str = "",
    email: str = "",
    capabilities: tuple[str, ...] = (),
    password: str | None = None,
) -> UserInfo:
    """Create a user with capabilities.

    Arguments:
        login: The name to sign in with: letters, digits, - _ and ., and not digits alone.
        name: The user's name for people; without it, the login.
        email: The user's e-mail address, which nothing is sent to.
        capabilities: What the user may do beyond their own pages and agents, such as manage_agents
            or manage_options.
        password: A password of at least 12 characters; without it, the user signs in by login
            links alone.
    """
    context.allow()
    users = context.parts.accounts().users
    user = User(
        id=find_free_user_id(context),
        login=_check_login(login),
        name=_check_text("name", name) or login,
        email=_check_text("email", email),
        capabilities=_check_capabilities(capabilities),
        created=context.clock(),
        password=_hash_new_password(password),
    )
    audit_event = build_event(context, "looseleaf/create-user", f"login={login}")
    return describe_user(users.add(user, audit_event))


@operation("looseleaf/update-user", permission="users", categories=("users",), idempotent=True)
def update_user(
    context: Context,
    user: str | int,
    *,
    name: str | None = None,
    email: str | None = None,
    capabilities: tuple[str, ...] | None = None,
    status: Literal["active", "disabled"] | None = None,
    password: str | None = None,
) -> UserInfo:
    """Change a user's name, capabilities, status or password; disabling ends all access at once.

    A new password ends the sessions of the user.

    Arguments:
        user: The user to change, by id or login.
        name: The new name for people; without it, the name stays.
        email: The new e-mail address; without it, the address stays.
        capabilities: All capabilities that the user has from now on, by name; without it, they
            stay.
        status: disabled ends all access of the user at once, active gives it back; without it, the
            status stays.
        password: The new password, of at least 12 characters; an empty text removes it, and
            without it the password stays.
    """
    context.allow()
    before = resolve_user(context, user)
    fields = {
        "name": None if name is None else _check_text("name", name),
        "email": None if email is None else _check_text("email", email),
        "capabilities": None if capabilities is None else _check_capabilities(capabilities),
        "status": None if status is None else _check_status(status),
        "password": None if password is None else _hash_new_password(password),
    }
    changes = {key: setting for key, setting in fields.items() if setting is not None}
    after = replace(before, **changes)
    _keep_an_administrator(context, before, after)
    target = f"user={before.login} {' '.join(changes)}"
    audit_event = build_event(context, "looseleaf/update-user", target)
    context.parts.accounts().users.change(after, audit_event)
    return describe_user(after)


@operation("looseleaf/list-grants", permission="grants", categories=("users",), read_only=True)
def list_grants(
    context: Context, agent: str | int | None = None, *, user: str | int | None = None
) -> list[GrantInfo]:
    """List who has which role on an agent, its owner first, or on which agents a user has one.

    Arguments:
        agent: The agent whose roles are listed, by id or slug; without it, the default agent.
        user: The user whose roles are listed, by id or login, on every agent whose roles one may
            list; without it, the roles on one agent are listed.
    """
    if user is not None:
        return _list_grants_of(context, user, agent)
    record = agent_of(context, agent)
    accounts = context.parts.accounts()
    logins = {account.id: account.login for account in accounts.users.list()}
    roles = [(record.owner, "admin")] + [
        (grant.user_id, grant.role)
        for grant in accounts.grants.list(agent_id=record.id)
        if grant.user_id != record.owner
    ]
    return [
        GrantInfo(record.slug, record.id, logins.get(user, ""), user, role) for user, role in roles
    ]


def _list_grants_of(context: Context, user: str | int, agent: str | int | None) -> list[GrantInfo]:
    records = [agent_of(context, agent)] if agent is not None else _list_administered(context)
    account = find_user(context, user)
    if account is None and not context.principal.can("manage_options"):
        return []  # only administrators learn whether a user exists
    person = resolve_user(context, user)
    grants = context.parts.accounts().grants.list(user_id=person.id)
    roles = {grant.agent_id: grant.role for grant in grants}
    roles |= {record.id: "admin" for record in records if record.owner == person.id}
    return [
        GrantInfo(record.slug, record.id, person.login, person.id, roles[record.id])
        for record in records
        if record.id in roles
    ]


def _list_administered(context: Context) -> list[AgentRecord]:
    """List the agents whose roles the principal may list; raise `Forbidden` if there is none."""
    records = [
        record
        for record in list_visible_agents(context)
        if find_requirement(context.principal, "grants", record.shelf, owner=record.owner) is None
    ]
    if not records:
        context.allow()
    return records


@operation("looseleaf/grant-role", permission="grants", categories=("users",), idempotent=True)
def grant_role(context: Context, agent: str | int, user: str | int, role: str) -> GrantInfo:
    """Grant a user a role on an agent: viewer, operator or admin.

    Arguments:
        agent: The agent that the role is on, by id or slug.
        user: The user who gets the role, by id or login.
        role: viewer reads, operator also writes and talks, admin also configures and gives roles.
    """
    record = agent_of(context, agent)
    if role not in ROLES:
        raise InvalidUser(role, f"a role is one of {', '.join(ROLES)}")
    account = resolve_user(context, user)
    grant = Grant(account.id, record.id, role, context.clock())
    target = f"agent={record.slug} user={account.login} role={role}"
    context.parts.accounts().grants.put(grant, build_event(context, "looseleaf/grant-role", target))
    return GrantInfo(record.slug, record.id, account.login, account.id, role)


@operation("looseleaf/revoke-role", permission="grants", categories=("users",), destructive=True)
def revoke_role(context: Context, agent: str | int, user: str | int) -> GrantInfo:
    """Revoke a user's role on an agent; the owner's stays.

    Arguments:
        agent: The agent that the role is on, by id or slug.
        user: The user who loses the role, by id or login.
    """
    record = agent_of(context, agent)
    account = resolve_user(context, user)
    if account.id == record.owner:
        raise Forbidden("grants", "another owner: the owner of an agent stays its admin")
    target = f"agent={record.slug} user={account.login}"
    audit_event = build_event(context, "looseleaf/revoke-role", target)
    if not context.parts.accounts().grants.remove(account.id, record.id, audit_event):
        raise NotFound(f"{account.login} has no role on {record.slug}.")
    return GrantInfo(record.slug, record.id, account.login, account.id, "")


def resolve_user(context: Context, user: str | int) -> User:
    """Find a user by id or login, or raise `UserMissing`."""
    account = find_user(context, user)
    if account is None:
        raise UserMissing(user)
    return account


def find_user(context: Context, user: str | int) -> User | None:
    """Find a user by id or login."""
    text = str(user)
    if text.isascii() and text.isdigit():
        return context.parts.accounts().users.find(int(text)) if len(text) < 10 else None
    return context.parts.accounts().users.find(text)


def describe_user(user: User) -> UserInfo:
    """Describe a user without secrets."""
    return UserInfo(
        id=user.id,
        login=user.login,
        name=user.name,
        email=user.email,
        capabilities=tuple(sorted(user.capabilities)),
        status=user.status,
        created=user.created,
        password=bool(user.password),
    )


def _keep_an_administrator(context: Context, before: User, after: User) -> None:
    """Refuse a change that leaves no administrator."""

    def administers(user: User) -> bool:
        return user.status == "active" and "manage_options" in user.capabilities

    if administers(before) and not administers(after):
        users = context.parts.accounts().users.list()
        if not any(administers(user) for user in users if user.id != before.id):
            raise InvalidUser(before.login, "someone must be left who has manage_options")


def _check_login(login: str) -> str:
    plain = login.isascii() and login.replace("-", "").replace("_", "").replace(".", "")
    if not plain or not plain.isalnum() or login.isdigit() or len(login) > 60:
        raise InvalidUser(login, "a login has letters, digits, - _ and ., and not digits alone")
    return login


def _check_text(field: str, text: str) -> str:
    if len(text) > _MOST_NAME or find_invisible(text, allow_joiners=True):
        raise InvalidUser(text, f"{field} is one line of at most {_MOST_NAME} visible characters")
    return text


def _check_capabilities(names: Iterable[str]) -> frozenset[str]:
    for name in names:
        if name not in CAPABILITIES:
            raise InvalidUser(name, f"a capability is one of {', '.join(CAPABILITIES)}")
    return frozenset(names)


def _check_status(status: str) -> str:
    if status not in USER_STATUSES:
        raise InvalidUser(status, f"a status is one of {', '.join(USER_STATUSES)}")
    return status


def _hash_new_password(password: str | None) -> str:
    if not password:
        return ""
    if not _LEAST_PASSWORD <= len(password) <= 1000:
        raise InvalidUser("password", f"it has at least {_LEAST_PASSWORD} characters")
    return hash_password(password)
