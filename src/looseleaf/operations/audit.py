"""The audit: who did what, and whether nothing of it was changed since."""

from __future__ import annotations

import os

from looseleaf.agents.accounts import Event
from looseleaf.errors import Invalid
from looseleaf.operations.catalog import operation
from looseleaf.operations.context import accounts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.agents.accounts import AuditEntry, Verified
    from looseleaf.operations.context import Context

DATABASE = ".looseleaf/looseleaf.db"
_MOST = 1000


@operation("looseleaf/list-audit", permission="audit", categories=("audit",), read_only=True)
def list_audit(context: Context, *, limit: int = 50, number: int = 0) -> list[AuditEntry]:
    """List what was done, newest first: when, by whom, through what, to what."""
    context.allow()
    if not 0 < limit <= _MOST or not 0 <= number < 2**53:
        raise Invalid(f"limit is 1 to {_MOST}, and number is that of an entry.")
    return list(accounts_of(context).audit.list(limit=limit, before=number))


@operation("looseleaf/verify-audit", permission="audit", categories=("audit",), read_only=True)
def verify_audit(context: Context) -> Verified:
    """Check that no entry of the audit was changed or taken out."""
    context.allow()
    return accounts_of(context).audit.verify()


def has_accounts(context: Context) -> bool:
    """Say whether there is a database already; asking makes none."""
    settings = context.settings
    file = os.path.join(settings.root, DATABASE)
    return context.accounts is not None and bool(settings.database_url or os.path.exists(file))


def event(context: Context, action: str, target: str = "", *, outcome: str = "done") -> Event:
    """Say who does this, for the audit."""
    principal = context.principal
    return Event(
        action,
        context.actor,
        principal.user_id,
        principal.kind,
        principal.credential,
        context.surface,
        target,
        outcome,
        context.reason,
    )
