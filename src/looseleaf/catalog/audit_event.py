"""The audit's entry for one act: who acts, through which surface, and why."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.access.audit import Event
    from looseleaf.catalog.context import Context


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
