"""The audit: every act as an event, in a chain that shows a missing or changed entry."""

from __future__ import annotations

from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol
else:
    Protocol = object


@value(kw_only=True)
class Event:
    """An event of the audit: the actor, the action, the surface, the target and the outcome.

    The last four fields are "" in entries that an older Looseleaf wrote.
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
        fault: The problem that was found, or "" if there is none.
        removed: How many older entries retention has removed, as the chain itself records.
    """

    entries: int
    fault: str = ""
    removed: int = 0


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
