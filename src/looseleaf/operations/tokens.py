"""Tokens, application passwords and login links: make, list, revoke."""

from __future__ import annotations

from looseleaf.access.accounts import APPLICATION, LOGIN_LINK, SESSION, TOKEN, Credential
from looseleaf.access.authentication import Authentication
from looseleaf.access.principals import (
    AGENT_CEILING,
    CREDENTIAL_RIGHTS,
    ROLES,
    WRITE_USER_PAGES,
    authorize,
    lower_role,
)
from looseleaf.catalog.context import build_event
from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import agent_of, list_visible_agents
from looseleaf.errors import Forbidden
from looseleaf.errors.operations import CredentialMissing, InvalidUser, UserMissing
from looseleaf.memory.hidden_characters import find_invisible
from looseleaf.memory.scope import Shelf
from looseleaf.operations.users import find_user, resolve_user
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from looseleaf.access.accounts import User
    from looseleaf.access.authentication import IssuedCredential
    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context

KINDS = (TOKEN, APPLICATION, SESSION, LOGIN_LINK)
_MOST_LABEL = 100
_FOR_EVER = 0.0


@value(kw_only=True)
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
    """Create a token for an agent, or for a user; its text is shown once.

    Arguments:
        agent: The agent that the token is for, by id or slug; without it, the token is a user's
            own.
        user: The user whom the token acts for, by id or login; without it, the agent's owner or
            the user who acts.
        label: A note for people that says what the token is for, in one line of at most 100
            characters.
        role: The most that the token may do: viewer, operator or admin; without it, operator for
            an agent and admin for a user.
        capabilities: The only capabilities that the token has, by name; without it, those of its
            user, or chat alone for an agent.
        expires_in: After how many seconds the token ends; without it, never.
    """
    record = agent_of(context, agent) if agent is not None else None
    owner = _acts_as(context, record, user)
    ceiling = _limit_ceiling(context, capabilities, AGENT_CEILING if record else None)
    credential = Credential(
        id="",
        kind=TOKEN,
        user_id=owner.id,
        secret="",
        agent_id=record.id if record else 0,
        role=_limit_role(context, record, role),
        label=_check_label(label),
        ceiling=ceiling,
        expires=_expires(context, expires_in),
    )
    target = f"agent={record.slug} label={label}" if record else f"user={owner.login} label={label}"
    return _describe_issue(_make(context, credential, "looseleaf/create-token", target))


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
    """Create a password for a program that signs in as a user by HTTP Basic; it is shown once.

    Arguments:
        user: The user whom the program signs in as, by id or login; without it, the user who acts.
        label: A note for people that says which program uses the password, in one line of at most
            100 characters.
        role: The most that the program may do: viewer, operator or admin; without it, admin.
        capabilities: The only capabilities that the password has, by name; without it, those of
            its user.
        expires_in: After how many seconds the password ends; without it, never.
    """
    owner = _acts_as(context, None, user)
    credential = Credential(
        id="",
        kind=APPLICATION,
        user_id=owner.id,
        secret="",
        role=_limit_role(context, None, role),
        label=_check_label(label),
        ceiling=_limit_ceiling(context, capabilities, None),
        expires=_expires(context, expires_in),
    )
    target = f"user={owner.login} label={label}"
    return _describe_issue(
        _make(context, credential, "looseleaf/create-application-password", target)
    )


@operation("looseleaf/create-login-link", permission="users", categories=("tokens",))
def create_login_link(context: Context, user: str | int | None = None) -> TokenInfo:
    """Create a link by which a user signs in once, within the hour.

    Arguments:
        user: The user who signs in by the link, by id or login; without it, the default user.
    """
    context.allow()
    owner = resolve_user(context, context.settings.default_user if user is None else user)
    audit_event = build_event(context, "looseleaf/create-login-link", f"user={owner.login}")
    return _describe_issue(_build_authentication(context).login_link(owner, audit_event))


@operation(
    "looseleaf/list-tokens", permission="list_tokens", categories=("tokens",), read_only=True
)
def list_tokens(
    context: Context, *, agent: str | int | None = None, user: str | int | None = None
) -> list[TokenInfo]:
    """List the credentials of an agent or of a user, those that have ended too; never a secret.

    To an agent only the credential that it uses is listed.

    Arguments:
        agent: The agent whose tokens are listed, by id or slug; without it, a user's credentials
            are.
        user: The user whose credentials are listed, by id or login; without it, the user who acts.
    """
    credentials = _list_credentials(context, agent, user)
    if context.principal.is_agent:
        credentials = [
            credential
            for credential in credentials
            if credential.id == context.principal.credential
        ]
    return [_describe_credential(credential) for credential in credentials]


def _list_credentials(
    context: Context, agent: str | int | None, user: str | int | None
) -> list[Credential]:
    if agent is not None:
        return context.parts.accounts().credentials.list(
            TOKEN, agent_id=agent_of(context, agent).id
        )
    if user is None and context.principal.is_local:
        owner = 0
    else:
        owner = _resolve_user(context, user).id
        authorize(context.principal, context.permission, Shelf("user", owner))
    store = context.parts.accounts().credentials
    return [credential for kind in KINDS for credential in store.list(kind, user_id=owner)]


@operation("looseleaf/revoke-token", permission="tokens", categories=("tokens",), destructive=True)
def revoke_token(context: Context, id: str) -> TokenInfo:  # noqa: A002 - it is the id
    """Revoke a token, application password, session or login link at once.

    Arguments:
        id: The public id of the credential, as the list gives it; never its secret text.
    """
    accounts = context.parts.accounts()
    credential = accounts.credentials.find(id)
    if credential is None or not _may_end(context, credential):
        raise CredentialMissing(id)
    audit_event = build_event(
        context, "looseleaf/revoke-token", f"id={id} label={credential.label}"
    )
    if not accounts.credentials.end(id, context.clock(), audit_event):
        raise CredentialMissing(id)
    ended_credential = accounts.credentials.find(id)
    return _describe_credential(ended_credential or credential)


def _may_end(context: Context, credential: Credential) -> bool:
    """Return whether the principal may end a credential: its own, or of an agent it manages."""
    try:
        if credential.agent_id and any(
            agent.id == credential.agent_id for agent in list_visible_agents(context)
        ):
            agent_of(context, credential.agent_id)
        else:
            authorize(context.principal, context.permission, Shelf("user", credential.user_id))
    except Forbidden:
        return False
    return True


def _acts_as(context: Context, record: AgentRecord | None, user: str | int | None) -> User:
    """Choose the user of a new credential, and check that the principal may act for that user."""
    principal = context.principal
    if record is not None and user is None:
        # A user who only has a role on the agent must not reach the owner's pages by a token.
        acts_for_owner = principal.can("manage_agents") or principal.user_id == record.owner
        return resolve_user(context, record.owner if acts_for_owner else principal.user_id)
    account = _resolve_user(context, user)
    authorize(principal, context.permission, Shelf("user", account.id))
    return account


def _resolve_user(context: Context, user: str | int | None) -> User:
    if user is not None:
        if find_user(context, user) is None and not context.principal.can("manage_options"):
            # Only administrators learn whether a user exists.
            raise Forbidden(context.permission, "the capability manage_options")
        return resolve_user(context, user)
    if context.principal.is_local:
        return resolve_user(context, context.settings.default_user)
    return resolve_user(context, context.principal.user_id)


def _limit_role(context: Context, record: AgentRecord | None, role: str | None) -> str:
    wanted_role = role or ("operator" if record else "admin")
    if wanted_role not in ROLES:
        raise InvalidUser(wanted_role, f"a role is one of {', '.join(ROLES)}")
    principal = context.principal
    own_role = principal.role_on(record.id, record.owner) if record else principal.role
    return lower_role(wanted_role, own_role or ROLES[0])


def _limit_ceiling(
    context: Context, names: Iterable[str] | None, default: frozenset[str] | None
) -> frozenset[str] | None:
    """Return the ceiling of a new credential, which is never above its maker's."""
    principal = context.principal
    if names is None:
        return default if principal.ceiling is None else (default or principal.ceiling)
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


def _check_label(label: str) -> str:
    if len(label) > _MOST_LABEL or find_invisible(label, allow_joiners=True):
        rule = f"a label is one line of at most {_MOST_LABEL} visible characters"
        raise InvalidUser(label, rule)
    return label


def _build_authentication(context: Context) -> Authentication:
    return Authentication(context.parts.accounts(), context.parts.agents, clock=context.clock)


def _make(context: Context, credential: Credential, action: str, target: str) -> IssuedCredential:
    if context.parts.accounts().users.find(credential.user_id) is None:
        raise UserMissing(credential.user_id)
    return _build_authentication(context).issue(credential, build_event(context, action, target))


def _describe_issue(issue: IssuedCredential) -> TokenInfo:
    return _describe_credential(issue.credential, issue.text)


def _describe_credential(credential: Credential, text: str = "") -> TokenInfo:
    ceiling = credential.ceiling
    return TokenInfo(
        id=credential.id,
        kind=credential.kind,
        user_id=credential.user_id,
        agent_id=credential.agent_id,
        role=credential.role,
        label=credential.label,
        capabilities=None if ceiling is None else tuple(sorted(ceiling)),
        created=credential.created,
        expires=credential.expires,
        last_used=credential.last_used,
        ended=credential.ended,
        token=text,
    )
