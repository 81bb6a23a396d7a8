"""Tokens, application passwords and login links: make, list, revoke."""

from __future__ import annotations

from looseleaf.agents.access import (
    AGENT_CEILING,
    CREDENTIAL_RIGHTS,
    ROLES,
    WRITE_USER_PAGES,
    authorize,
    lower,
)
from looseleaf.agents.accounts import APPLICATION, LOGIN_LINK, SESSION, TOKEN, Credential
from looseleaf.agents.authentication import Authentication
from looseleaf.errors import CredentialMissing, Forbidden, InvalidUser, UserMissing
from looseleaf.memory.characters import find_invisible
from looseleaf.memory.scope import Shelf
from looseleaf.operations.audit import event
from looseleaf.operations.catalog import operation
from looseleaf.operations.context import accounts_of, agent_of, visible_agents
from looseleaf.operations.users import find_user, user_named
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from looseleaf.agents.accounts import User
    from looseleaf.agents.authentication import Shown
    from looseleaf.agents.record import AgentRecord
    from looseleaf.operations.context import Context

KINDS = (TOKEN, APPLICATION, SESSION, LOGIN_LINK)
_MOST_LABEL = 100
_FOR_EVER = 0.0


@value
class TokenInfo:
    """A credential as others see it; the secret is shown once, as `token`."""

    id: str
    kind: str
    user_id: int
    agent_id: int
    role: str
    label: str
    capabilities: tuple[str, ...] | None  # None: all that the user has
    created: float
    expires: float
    last_used: float
    ended: float
    token: str = ""


@operation("looseleaf/create-token", permission="tokens", categories=("tokens",))
def create_token(
    context: Context,
    *,
    agent: str | int | None = None,
    user: str | int | None = None,
    label: str = "",
    role: str | None = None,
    capabilities: tuple[str, ...] | None = None,
    expires_in: float | None = None,
) -> TokenInfo:
    """Make a token for an agent, or for a user; its text is shown once."""
    record = agent_of(context, agent) if agent is not None else None
    owner = _acts_as(context, record, user)
    ceiling = _ceiling(context, capabilities, AGENT_CEILING if record else None)
    wanted = Credential(
        "",
        TOKEN,
        owner.id,
        "",
        record.id if record else 0,
        _role(context, record, role),
        _label(label),
        ceiling,
        expires=_expires(context, expires_in),
    )
    target = f"agent={record.slug} label={label}" if record else f"user={owner.login} label={label}"
    return _shown(_make(context, wanted, "looseleaf/create-token", target))


@operation("looseleaf/create-application-password", permission="tokens", categories=("tokens",))
def create_application_password(
    context: Context,
    *,
    user: str | int | None = None,
    label: str = "",
    role: str | None = None,
    capabilities: tuple[str, ...] | None = None,
    expires_in: float | None = None,
) -> TokenInfo:
    """Make a password for a program that signs in as a user by HTTP Basic; it is shown once."""
    owner = _acts_as(context, None, user)
    wanted = Credential(
        "",
        APPLICATION,
        owner.id,
        "",
        role=_role(context, None, role),
        label=_label(label),
        ceiling=_ceiling(context, capabilities, None),
        expires=_expires(context, expires_in),
    )
    target = f"user={owner.login} label={label}"
    return _shown(_make(context, wanted, "looseleaf/create-application-password", target))


@operation("looseleaf/create-login-link", permission="users", categories=("tokens",))
def create_login_link(context: Context, user: str | int | None = None) -> TokenInfo:
    """Make a link by which a user signs in once, within the hour."""
    context.allow()
    owner = user_named(context, context.settings.default_user if user is None else user)
    told = event(context, "looseleaf/create-login-link", f"user={owner.login}")
    return _shown(_authentication(context).login_link(owner, told))


@operation(
    "looseleaf/list-tokens", permission="list_tokens", categories=("tokens",), read_only=True
)
def list_tokens(
    context: Context, *, agent: str | int | None = None, user: str | int | None = None
) -> list[TokenInfo]:
    """List the credentials of an agent or of a user, those that have ended too; never a secret.

    To an agent only the credential that it uses is listed.
    """
    listed = _credentials(context, agent, user)
    if context.principal.is_agent:
        listed = [one for one in listed if one.id == context.principal.credential]
    return [_info(one) for one in listed]


def _credentials(
    context: Context, agent: str | int | None, user: str | int | None
) -> list[Credential]:
    if agent is not None:
        return accounts_of(context).credentials.list(TOKEN, agent_id=agent_of(context, agent).id)
    if user is None and context.principal.is_local:
        owner = 0
    else:
        owner = _user(context, user).id
        authorize(context.principal, context.permission, Shelf("user", owner))
    store = accounts_of(context).credentials
    return [one for kind in KINDS for one in store.list(kind, user_id=owner)]


@operation("looseleaf/revoke-token", permission="tokens", categories=("tokens",), destructive=True)
def revoke_token(context: Context, id: str) -> TokenInfo:  # noqa: A002 - it is the id
    """End a token, application password, session or login link at once."""
    accounts = accounts_of(context)
    found = accounts.credentials.find(id)
    if found is None or not _may_end(context, found):
        raise CredentialMissing(id)
    told = event(context, "looseleaf/revoke-token", f"id={id} label={found.label}")
    if not accounts.credentials.end(id, context.clock(), told):
        raise CredentialMissing(id)
    ended = accounts.credentials.find(id)
    return _info(ended or found)


def _may_end(context: Context, credential: Credential) -> bool:
    """Say whether one may: the user's own, or that of an agent one administers."""
    try:
        if credential.agent_id and any(
            one.id == credential.agent_id for one in visible_agents(context)
        ):
            agent_of(context, credential.agent_id)
        else:
            authorize(context.principal, context.permission, Shelf("user", credential.user_id))
    except Forbidden:
        return False
    return True


def _acts_as(context: Context, record: AgentRecord | None, user: str | int | None) -> User:
    """Choose whom a credential acts as, and make sure that one may act for them."""
    principal = context.principal
    if record is not None and user is None:
        # One who was only granted a role must not get the owner's own pages by a token.
        acts_for_owner = principal.can("manage_agents") or principal.user_id == record.owner
        return user_named(context, record.owner if acts_for_owner else principal.user_id)
    found = _user(context, user)
    authorize(principal, context.permission, Shelf("user", found.id))
    return found


def _user(context: Context, user: str | int | None) -> User:
    if user is not None:
        if find_user(context, user) is None and not context.principal.can("manage_options"):
            # Whether there is such a user is not for everyone to know.
            raise Forbidden(context.permission, "the capability manage_options")
        return user_named(context, user)
    if context.principal.is_local:
        return user_named(context, context.settings.default_user)
    return user_named(context, context.principal.user_id)


def _role(context: Context, record: AgentRecord | None, role: str | None) -> str:
    chosen = role or ("operator" if record else "admin")
    if chosen not in ROLES:
        raise InvalidUser(chosen, f"a role is one of {', '.join(ROLES)}")
    principal = context.principal
    own = principal.role_on(record.id, record.owner) if record else principal.role
    return lower(chosen, own or ROLES[0])


def _ceiling(
    context: Context, names: Iterable[str] | None, otherwise: frozenset[str] | None
) -> frozenset[str] | None:
    """Give the ceiling of a new credential, which is never above its maker's."""
    principal = context.principal
    if names is None:
        return otherwise if principal.ceiling is None else (otherwise or principal.ceiling)
    for name in names:
        if name not in CREDENTIAL_RIGHTS:
            raise InvalidUser(name, f"a capability is one of {', '.join(CREDENTIAL_RIGHTS)}")
        # Everyone may write their own pages, and passes that on to a credential of their own.
        if name != WRITE_USER_PAGES and not principal.can(name):
            raise Forbidden(context.permission, f"the capability {name}, to pass it on")
    return frozenset(names)


def _expires(context: Context, seconds: float | None) -> float:
    if seconds is None:
        return _FOR_EVER
    if not 0 < seconds < 10**10:
        raise InvalidUser(seconds, "it expires after a positive number of seconds")
    return context.clock() + seconds


def _label(label: str) -> str:
    if len(label) > _MOST_LABEL or find_invisible(label, joined=True):
        why = f"a label is one line of at most {_MOST_LABEL} visible characters"
        raise InvalidUser(label, why)
    return label


def _authentication(context: Context) -> Authentication:
    return Authentication(accounts_of(context), context.agents, clock=context.clock)


def _make(context: Context, wanted: Credential, action: str, target: str) -> Shown:
    if accounts_of(context).users.find(wanted.user_id) is None:
        raise UserMissing(wanted.user_id)
    return _authentication(context).issue(wanted, event(context, action, target))


def _shown(shown: Shown) -> TokenInfo:
    return _info(shown.credential, shown.text)


def _info(credential: Credential, text: str = "") -> TokenInfo:
    ceiling = credential.ceiling
    return TokenInfo(
        credential.id,
        credential.kind,
        credential.user_id,
        credential.agent_id,
        credential.role,
        credential.label,
        None if ceiling is None else tuple(sorted(ceiling)),
        credential.created,
        credential.expires,
        credential.last_used,
        credential.ended,
        text,
    )
