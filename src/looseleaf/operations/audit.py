"""The audit: who did what, and whether nothing of it was changed since."""

from __future__ import annotations

from looseleaf.access.audit import AuditEntry, AuditFilter, AuditVerdict
from looseleaf.catalog.declaration import operation
from looseleaf.catalog.json_values import LARGEST_INTEGER, check_limit
from looseleaf.errors import Invalid
from looseleaf.memory.day import parse_date
from looseleaf.times import DAY_SECONDS, parse_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from looseleaf.catalog.context import Context

MOST_ENTRIES = 1000  # of one part of the audit


@operation("looseleaf/list-audit", permission="audit", categories=("audit",), read_only=True)
def list_audit(
    context: Context,
    *,
    limit: int = 50,
    number: int = 0,
    actor_kind: Literal["", "person", "agent", "task", "import", "outside"] = "",
    actor: str = "",
    action: str = "",
    since: str = "",
    until: str = "",
) -> list[AuditEntry]:
    """List what was done, newest first: when, by whom, through what, to what.

    Arguments:
        limit: The most entries to give, from 1 to 1000.
        number: Only entries before the one with this number, to read a long audit in parts; 0
            begins with the newest.
        actor_kind: Only what actors of this kind did; "" for all.
        actor: Only what the actor of this name did; "" for all.
        action: Only actions whose name contains this text, such as create-token; "" for all.
        since: Only entries from this UTC day or time on, such as 2026-04-17; "" for all.
        until: Only entries up to this UTC time, or to the end of this day; "" for all.
    """
    context.allow()
    check_limit(limit, MOST_ENTRIES)
    if not 0 <= number <= LARGEST_INTEGER:
        raise Invalid("number is 0, or the number of an entry.")
    end = _parse_time(until, end=True)
    only = AuditFilter(actor_kind, actor, action, _parse_time(since), end)
    return list(context.parts.accounts().audit.list(limit=limit, before=number, only=only))


def _parse_time(text: str, *, end: bool = False) -> float:
    """Read a day or a time; of a day, its first or its last moment. 0 if none is given."""
    if not text:
        return 0.0
    day = parse_date(text)
    if day is not None:
        return day.timestamp + DAY_SECONDS - 1e-6 if end else float(day.timestamp)
    try:
        return parse_time(text)
    except ValueError:
        raise Invalid(
            f"{text!r} is no time: write a day such as 2026-04-17, or 2026-04-17T09:30Z."
        ) from None


@operation("looseleaf/verify-audit", permission="audit", categories=("audit",), read_only=True)
def verify_audit(context: Context) -> AuditVerdict:
    """Check that no entry of the audit was changed or taken out."""
    context.allow()
    return context.parts.accounts().audit.verify()
