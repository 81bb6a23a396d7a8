"""Users, and their roles on agents."""

from __future__ import annotations

from looseleaf.agents.access import CAPABILITIES, ROLES
from looseleaf.agents.accounts import USER_STATUSES, Grant, User
from looseleaf.agents.credentials import hash_password
from looseleaf.errors import Forbidden, InvalidUser, NotFound, UserMissing
from looseleaf.memory.characters import find_invisible
from looseleaf.operations.audit import event
from looseleaf.operations.catalog import operation
from looseleaf.operations.context import accounts_of, agent_of
from looseleaf.values import changed, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    from looseleaf.operations.context import Context

_LEAST_PASSWORD = 12
_MOST_NAME = 200


@value
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
    return [info(one) for one in accounts_of(context).users.list()]


@operation("looseleaf/show-user", permission="users", categories=("users",), read_only=True)
def show_user(context: Context, user: str | int) -> UserInfo:
    """Show one user, found by id or login."""
    context.allow()
    return info(user_named(context, user))


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
    """Create a user with capabilities."""
    context.allow()
    # An agent may belong to a user who is not known yet; a newcomer must not inherit it.
    taken = [one.owner for one in context.agents.records()]
    users = accounts_of(context).users
    known = [one.id for one in users.list()]
    made = User(
        max([0, *taken, *known]) + 1,
        _login(login),
        _text("name", name) or login,
        _text("email", email),
        _capabilities(capabilities),
        created=context.clock(),
        password=_password(password),
    )
    return info(users.add(made, event(context, "looseleaf/create-user", f"login={login}")))


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
    """
    context.allow()
    found = user_named(context, user)
    wanted = {
        "name": None if name is None else _text("name", name),
        "email": None if email is None else _text("email", email),
        "capabilities": None if capabilities is None else _capabilities(capabilities),
        "status": None if status is None else _status(status),
        "password": None if password is None else _password(password),
    }
    chosen = {key: one for key, one in wanted.items() if one is not None}
    made = changed(found, **chosen)
    _keep_an_administrator(context, found, made)
    target = f"user={found.login} {' '.join(chosen)}"
    accounts_of(context).users.change(made, event(context, "looseleaf/update-user", target))
    return info(made)


@operation("looseleaf/list-grants", permission="grants", categories=("users",), read_only=True)
def list_grants(context: Context, agent: str | int | None = None) -> list[GrantInfo]:
    """List who has which role on an agent, its owner first."""
    record = agent_of(context, agent)
    accounts = accounts_of(context)
    logins = {one.id: one.login for one in accounts.users.list()}
    granted = [(record.owner, "admin")] + [
        (one.user_id, one.role)
        for one in accounts.grants.list(agent_id=record.id)
        if one.user_id != record.owner
    ]
    return [
        GrantInfo(record.slug, record.id, logins.get(user, ""), user, role)
        for user, role in granted
    ]


@operation("looseleaf/grant-role", permission="grants", categories=("users",), idempotent=True)
def grant_role(context: Context, agent: str | int, user: str | int, role: str) -> GrantInfo:
    """Give a user a role on an agent: viewer, operator or admin."""
    record = agent_of(context, agent)
    if role not in ROLES:
        raise InvalidUser(role, f"a role is one of {', '.join(ROLES)}")
    found = user_named(context, user)
    grant = Grant(found.id, record.id, role, context.clock())
    target = f"agent={record.slug} user={found.login} role={role}"
    accounts_of(context).grants.put(grant, event(context, "looseleaf/grant-role", target))
    return GrantInfo(record.slug, record.id, found.login, found.id, role)


@operation("looseleaf/revoke-role", permission="grants", categories=("users",), destructive=True)
def revoke_role(context: Context, agent: str | int, user: str | int) -> GrantInfo:
    """Take a user's role on an agent away; the owner's stays."""
    record = agent_of(context, agent)
    found = user_named(context, user)
    if found.id == record.owner:
        raise Forbidden("grants", "another owner: the owner of an agent stays its admin")
    target = f"agent={record.slug} user={found.login}"
    told = event(context, "looseleaf/revoke-role", target)
    if not accounts_of(context).grants.remove(found.id, record.id, told):
        raise NotFound(f"{found.login} has no role on {record.slug}.")
    return GrantInfo(record.slug, record.id, found.login, found.id, "")


def user_named(context: Context, user: str | int) -> User:
    """Find a user by id or login, or raise `UserMissing`."""
    found = find_user(context, user)
    if found is None:
        raise UserMissing(user)
    return found


def find_user(context: Context, user: str | int) -> User | None:
    """Find a user by id or login."""
    text = str(user)
    if text.isascii() and text.isdigit():
        return accounts_of(context).users.find(int(text)) if len(text) < 10 else None
    return accounts_of(context).users.find(text)


def info(user: User) -> UserInfo:
    """Give a user without what is secret."""
    return UserInfo(
        user.id,
        user.login,
        user.name,
        user.email,
        tuple(sorted(user.capabilities)),
        user.status,
        user.created,
        bool(user.password),
    )


def _keep_an_administrator(context: Context, before: User, after: User) -> None:
    """Refuse to lock everyone out."""

    def administers(user: User) -> bool:
        return user.status == "active" and "manage_options" in user.capabilities

    if administers(before) and not administers(after):
        others = [one for one in accounts_of(context).users.list() if one.id != before.id]
        if not any(map(administers, others)):
            raise InvalidUser(before.login, "someone must be left who has manage_options")


def _login(login: str) -> str:
    plain = login.isascii() and login.replace("-", "").replace("_", "").replace(".", "")
    if not plain or not plain.isalnum() or login.isdigit() or len(login) > 60:
        raise InvalidUser(login, "a login has letters, digits, - _ and ., and not digits alone")
    return login


def _text(what: str, text: str) -> str:
    if len(text) > _MOST_NAME or find_invisible(text, joined=True):
        raise InvalidUser(text, f"{what} is one line of at most {_MOST_NAME} visible characters")
    return text


def _capabilities(names: Iterable[str]) -> frozenset[str]:
    for name in names:
        if name not in CAPABILITIES:
            raise InvalidUser(name, f"a capability is one of {', '.join(CAPABILITIES)}")
    return frozenset(names)


def _status(status: str) -> str:
    if status not in USER_STATUSES:
        raise InvalidUser(status, f"a status is one of {', '.join(USER_STATUSES)}")
    return status


def _password(password: str | None) -> str:
    if not password:
        return ""
    if not _LEAST_PASSWORD <= len(password) <= 1000:
        raise InvalidUser("password", f"it has at least {_LEAST_PASSWORD} characters")
    return hash_password(password)
