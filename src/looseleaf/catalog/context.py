"""The context of an operation: who acts, from where and why, and the parts of the workspace."""

from __future__ import annotations

from looseleaf.access.principals import AGENT, LOCAL_ADMINISTRATOR, authorize
from looseleaf.errors import InvalidArgument
from looseleaf.memory.provenance import (
    FROM_IMPORT,
    IMPORT,
    NO_ACTIVITY,
    Provenance,
    default_origin_of,
)
from looseleaf.memory.store import Change, build_precondition
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from looseleaf.access.audit import Event
    from looseleaf.access.principals import Principal
    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.services import WorkspaceServices
    from looseleaf.memory.history import History
    from looseleaf.memory.pages import MemoryPages
    from looseleaf.memory.provenance import Activity, Origin
    from looseleaf.memory.scope import Scope
    from looseleaf.memory.search.ranking import Index
    from looseleaf.memory.store import Precondition
    from looseleaf.settings import Settings


_NAMING_SURFACES = (
    "admin",
    "rest",
    "mcp",
)  # others may write between a read and the write that follows


def is_always_current() -> bool:
    """Return true: a call by the operator or in Python has no credential that could end."""
    return True


@value(kw_only=True)
class Context:
    """The principal and the workspace: its parts, and the pages that the principal may reach."""

    parts: WorkspaceServices
    settings: Settings  # of the file, and those that were set while running
    pages: MemoryPages  # those that the principal may reach
    principal: Principal = LOCAL_ADMINISTRATOR
    actor: str = ""
    surface: str = "library"
    reason: str = ""
    origin: Origin = ""  # stated by the principal; "" for the usual origin
    activity: Activity = NO_ACTIVITY
    permission: str = ""  # of the operation that runs
    precondition: Precondition | None = None  # of the page that a request changes, by its headers
    is_current: Callable[[], bool] = is_always_current  # whether the credential still counts
    bound_history: History | None = None  # of the pages that a memory policy leaves
    acting_agent: AgentRecord | None = None  # of the principal, as the operation has found it

    @property
    def is_remote(self) -> Literal[False]:
        """Whether operations are to be run on a server instead."""
        return False

    @property
    def is_bound(self) -> bool:
        """Whether a memory policy leaves only some of the pages."""
        return self.bound_history is not None

    @property
    def history(self) -> History:
        """The history of the pages; loaded when it is first asked for."""
        return self.parts.history if self.bound_history is None else self.bound_history

    def read_past(self, scope: Scope, as_of: str) -> bytes:
        """Read what a page said at a time or revision."""
        from looseleaf.memory.history import require_content_at

        return require_content_at(self.history, scope, as_of)

    def clock(self) -> float:
        """Return the time, in seconds since 1970."""
        return self.parts.clock()

    def index(self) -> Index | None:
        """Return the search index of all pages, or None if only some pages may be reached."""
        return None if self.is_bound else self.parts.index()

    def with_permission(self, permission: str) -> Context:
        """Return the same context to an operation that has this permission."""
        is_unchanged = self.principal.is_local or self.permission == permission
        return self if is_unchanged else replace(self, permission=permission)

    def allow(self) -> None:
        """Raise `Forbidden` unless the operation is allowed on the whole workspace."""
        authorize(self.principal, self.permission)

    def provenance(self, *, reason: str = "", origin: Origin = "") -> Provenance:
        """Return the provenance of what is done now; the principal decides the kind of actor."""
        kind = self.principal.actor_kind
        return Provenance(
            self.actor,
            kind,
            self.surface,
            self.activity,
            origin or self.origin or default_origin_of(kind),
            reason or self.reason,
        )

    def import_change(self, operation: str, reason: str = "") -> Change:
        """Build the change of a page by an import; the reason of the context comes first."""
        change = self.change(operation, origin=FROM_IMPORT, reason=self.reason or reason)
        return replace(change, provenance=replace(change.provenance, actor_kind=IMPORT))

    def change(
        self,
        operation: str,
        *,
        if_match: str | None = None,
        allow_shrink: bool = False,
        reason: str = "",
        origin: Origin = "",
    ) -> Change:
        """Build the change of a page: who makes it, and how, and which version may be replaced.

        An operation that generates the text itself states its `origin`.
        """
        precondition = self.precondition
        if if_match is not None:
            if precondition is not None and precondition != build_precondition(if_match):
                raise InvalidArgument("if_match", "the headers of the request say otherwise")
            precondition = build_precondition(if_match)
        return Change(
            operation,
            self.provenance(reason=reason, origin=origin),
            precondition,
            self.settings.require_if_match and self.surface in _NAMING_SURFACES,
            allow_shrink,
        )


def act_for(context: Context, agent: AgentRecord) -> Context:
    """Return the context of a principal that acts through an agent, with its owner and name.

    A program that the operator started acts under the name of the agent, whatever it calls itself.
    """
    principal = context.principal
    if principal.agent_owner != agent.owner:
        context = replace(context, principal=replace(principal, agent_owner=agent.owner))
    if principal.kind == AGENT and context.actor != agent.slug:
        context = replace(context, actor=agent.slug)
    return context


# The audit's entry for one act: who acts, through which surface, and why.


def build_event(context: Context, action: str, target: str = "", *, outcome: str = "done") -> Event:
    """Build the entry of the audit for an act of the principal."""
    from looseleaf.access.audit import Event

    principal, provenance = context.principal, context.provenance()
    return Event(
        action=action,
        actor=provenance.actor,
        user_id=principal.user_id,
        kind=principal.kind,
        credential=principal.credential,
        surface=provenance.surface,
        target=target,
        outcome=outcome,
        reason=provenance.reason,
        actor_kind=provenance.actor_kind,
        origin=provenance.origin,
        activity=provenance.activity.kind,
        activity_id=provenance.activity.id,
    )
