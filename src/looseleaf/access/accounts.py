"""Accounts: users, their grants and credentials, and settings made while running.

The contracts a database implements. Every change carries the event that the audit keeps of it, and
both are written together or not at all. Agents are folders; these contracts know only their ids.
"""

from __future__ import annotations

from looseleaf.access.principals import AGENT, Principal, find_requirement
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    from looseleaf.access.audit import Audit, Event
    from looseleaf.memory.scope import Shelf
else:
    Protocol = object


ACTIVE, DISABLED = "active", "disabled"
USER_STATUSES = (ACTIVE, DISABLED)
# Kinds of credential, as they are stored.
TOKEN, APPLICATION, SESSION, LOGIN_LINK = "token", "application", "session", "login_link"


@value(kw_only=True)
class User:
    """Someone who may act here; ids are never used again."""

    id: int
    login: str
    name: str = ""
    email: str = ""
    capabilities: frozenset[str] = frozenset()
    status: str = ACTIVE
    created: float = 0.0
    password: str = ""  # scrypt; "" is none


@value
class Grant:
    """A user's role on an agent."""

    user_id: int
    agent_id: int
    role: str
    created: float = 0.0


@value(kw_only=True)
class Credential:
    """A proof to act as a user: a public id, and the hash of a secret that is shown once."""

    id: str
    kind: str  # token, application, session or login_link
    user_id: int
    secret: str  # sha256 in hex
    agent_id: int = 0  # the only agent it reaches
    role: str = "admin"  # never more than this on any agent
    label: str = ""
    ceiling: frozenset[str] | None = None  # never more than these capabilities
    created: float = 0.0
    expires: float = 0.0  # 0 is never
    last_used: float = 0.0  # to the hour
    ended: float = 0.0  # revoked, signed out or used up, or 0 if it has not ended


class Users(Protocol):
    """The users of a workspace."""

    def add(self, user: User, event: Event) -> User:
        """Add a user (id 0: the next one); raise `Refused` if the login is taken."""

    def change(self, user: User, event: Event) -> None:
        """Replace the record of a user; a new password ends sessions and login links."""

    def find(self, user: int | str) -> User | None:
        """Find a user by id or login."""

    def list(self) -> list[User]:
        """List every user, by id."""


class Grants(Protocol):
    """The roles of users on agents."""

    def put(self, grant: Grant, event: Event) -> None:
        """Set the role of a user on an agent."""

    def remove(self, user_id: int, agent_id: int, event: Event) -> bool:
        """Remove a role; return whether there was one."""

    def list(self, *, user_id: int = 0, agent_id: int = 0) -> list[Grant]:
        """List grants, of a user or on an agent."""


class Credentials(Protocol):
    """Tokens, application passwords, sessions and login links; none is ever deleted."""

    def add(self, credential: Credential, event: Event) -> None:
        """Add a credential."""

    def find(self, identity: str) -> Credential | None:
        """Find a credential by its public id, ended or not."""

    def list(self, kind: str, *, user_id: int = 0, agent_id: int = 0) -> list[Credential]:
        """List credentials of a kind, of a user or bound to an agent, oldest first."""

    def end(self, identity: str, time: float, event: Event) -> bool:
        """End a credential; return False if it had ended before, so that one caller wins."""

    def note_use(self, identity: str, time: float) -> None:
        """Record when a credential was last used."""


class SiteSettings(Protocol):
    """Settings made while running, which win over the settings file."""

    def all(self) -> Mapping[str, Any]:
        """Return every setting made, by name."""

    def put(self, settings: Mapping[str, object], event: Event) -> None:
        """Set settings by name, all or none; None removes a setting."""


class SettingsAndAudit(Protocol):
    """The part of the accounts that every act of an agent needs: runtime settings, the audit."""

    def version(self) -> int:
        """Return a number that grows with every change of accounts or settings."""

    def runtime_settings(self) -> Mapping[str, Any]:
        """Return every setting made while running, by name."""

    def add_event(self, event: Event) -> None:
        """Add an event that changed no account to the audit."""

    def close(self) -> None:
        """Close the database."""


class Accounts(SettingsAndAudit, Protocol):
    """The accounts of one database."""

    @property
    def users(self) -> Users:
        """The users."""

    @property
    def grants(self) -> Grants:
        """The roles of users on agents."""

    @property
    def credentials(self) -> Credentials:
        """The credentials of users."""

    @property
    def settings(self) -> SiteSettings:
        """The settings made while running."""

    @property
    def audit(self) -> Audit:
        """The audit."""

    @property
    def write_count(self) -> int:
        """How often this process has changed the database, which costs nothing to ask."""

    def verify(self) -> list[str]:
        """List the rows that other programs changed, and those that are missing."""

    def end_agent(self, agent_id: int, time: float, event: Event) -> bool:
        """End every credential of an agent and every role on it; return whether there was any."""


# The rights of a user for whom an agent acts while nobody is present.


_NO_ROLE = ""  # below every role, so that nothing is allowed on any agent


def build_user_principal(
    accounts: Accounts, user_id: int, *, agent_id: int, name: str = ""
) -> Principal:
    """Build the principal of a user for whom an agent acts, with the rights that they have now.

    A user without an account has rights on their own agents alone: at the command line, an agent
    has an owner before there is any account. A disabled user has no right at all.
    """
    user = accounts.users.find(user_id)
    if user is None:
        return Principal(kind=AGENT, user_id=user_id, name=name, agent_id=agent_id)
    if user.status != ACTIVE:
        return Principal(kind=AGENT, user_id=user_id, name=name, agent_id=agent_id, role=_NO_ROLE)
    grants = {grant.agent_id: grant.role for grant in accounts.grants.list(user_id=user_id)}
    return Principal(
        kind=AGENT,
        user_id=user_id,
        name=name,
        capabilities=user.capabilities,
        grants=grants,
        agent_id=agent_id,
    )


def find_job_requirement(principal: Principal, shelf: Shelf, owner: int) -> str | None:
    """Return what a user lacks for a job of an agent of `owner`, or None if nothing is missing.

    The owner needs an account that is not disabled, if there is one. Any other user needs what it
    takes to start the job: the role operator on the agent, and the capability for workflows.
    """
    is_owner = principal.user_id == owner
    return find_requirement(principal, "write" if is_owner else "flows", shelf, owner=owner)
