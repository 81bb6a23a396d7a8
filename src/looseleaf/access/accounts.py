"""Accounts: users, their grants and credentials, settings made while running, and the audit.

The contracts a database implements. Every change carries the event that the audit keeps of it, and
both are written together or not at all. Agents are folders; these contracts know only their ids.
"""

from __future__ import annotations

from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Protocol
else:
    Protocol = object

ACTIVE, DISABLED = "active", "disabled"
USER_STATUSES = (ACTIVE, DISABLED)
# Kinds of credential, as they are stored.
TOKEN, APPLICATION, SESSION, LOGIN_LINK = "token", "application", "session", "login_link"


@value
class User:
    """Someone who may act here; ids are never given out again."""

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


@value
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
    ended: float = 0.0  # revoked, signed out or used up; 0 is not


@value
class Event:
    """An event of the audit: the actor, the action, the surface, the target and the outcome.

    The last four are "" in entries that an older Looseleaf wrote.
    """

    action: str
    actor: str = ""
    user_id: int = 0
    kind: str = "local"  # of the credential
    credential: str = ""
    surface: str = "library"
    target: str = ""
    outcome: str = "done"  # or refused
    reason: str = ""
    detail: str = ""
    actor_kind: str = ""  # person, agent, task, import or outside
    origin: str = ""  # user, agent, tool, import or system
    activity: str = ""  # session, job or request
    activity_id: str = ""


@value
class AuditEntry:
    """An event in the audit, chained to the one before by its hash."""

    number: int
    time: float
    event: Event
    previous: str
    hash: str


@value
class AuditFilter:
    """Which entries of the audit are listed; "" and 0 restrict nothing."""

    actor_kind: str = ""
    actor: str = ""
    action: str = ""  # a part of the action's name
    since: float = 0.0
    until: float = 0.0


ALL_ENTRIES = AuditFilter()


@value
class AuditVerdict:
    """The result of following the chain of the audit.

    Fields:
        entries: How many entries were checked.
        fault: The problem that was found; "" where there is none.
        removed: How many older entries retention has removed, as the chain itself records.
    """

    entries: int
    fault: str = ""
    removed: int = 0


class Users(Protocol):
    """The users of a workspace."""

    def add(self, user: User, event: Event) -> User:
        """Add a user (id 0: the next one); `Refused` where the login is taken."""

    def change(self, user: User, event: Event) -> None:
        """Replace the record of a user; a new password ends sessions and login links."""

    def find(self, user: int | str) -> User | None:
        """Find a user by id or login."""

    def list(self) -> list[User]:
        """List every user, by id."""


class Grants(Protocol):
    """The roles of users on agents."""

    def put(self, grant: Grant, event: Event) -> None:
        """Give a user a role on an agent, or another one."""

    def remove(self, user_id: int, agent_id: int, event: Event) -> bool:
        """Take a role away; say whether there was one."""

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
        """End a credential; False where it had ended before, so that one caller wins."""

    def note_use(self, identity: str, time: float) -> None:
        """Note when a credential was last used."""


class SiteSettings(Protocol):
    """Settings made while running, which win over the settings file."""

    def all(self) -> Mapping[str, Any]:
        """Give every setting made, by name."""

    def put(self, settings: Mapping[str, object], event: Event) -> None:
        """Make settings by name, all or none; None takes one out."""


class Audit(Protocol):
    """Events in order; entries are added at the end, and retention removes the oldest."""

    def add(self, event: Event) -> None:
        """Add an event that changed no account."""

    def list(
        self, *, limit: int = 50, before: int = 0, only: AuditFilter = ALL_ENTRIES
    ) -> Sequence[AuditEntry]:
        """List entries, newest first: of lower numbers than `before`, and as the filter says."""

    def verify(self) -> AuditVerdict:
        """Follow the chain from its beginning to its end."""

    def prune(self, before: float, event: Event, *, dry_run: bool = False) -> int:
        """Remove the oldest entries, those made before a time; return how many.

        `event` becomes the entry that records it; the chain stays verifiable.
        """


class Ledger(Protocol):
    """The part of the accounts that every act of an agent needs: runtime settings, the audit."""

    def version(self) -> int:
        """Give a number that grows with every change of accounts or settings."""

    def runtime_settings(self) -> Mapping[str, Any]:
        """Give every setting made while running, by name."""

    def add_event(self, event: Event) -> None:
        """Add an event that changed no account to the audit."""

    def close(self) -> None:
        """Let go of the database."""


class Accounts(Ledger, Protocol):
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

    def verify(self) -> list[str]:
        """Name the rows that were changed outside, and those that are missing."""

    def end_agent(self, agent_id: int, time: float, event: Event) -> bool:
        """End every credential of an agent and every role on it; say whether there was any."""
