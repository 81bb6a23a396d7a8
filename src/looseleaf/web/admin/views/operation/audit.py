"""The audit: who did what, by actor, kind, action and time, and whether the chain is intact."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from looseleaf.memory.provenance import ACTOR_KINDS
from looseleaf.plugins.admin_pages import Document, Redirect

if TYPE_CHECKING:
    from looseleaf.access.audit import AuditEntry
    from looseleaf.plugins.admin_pages import Visit

ADDRESS = "/admin/audit"
MOST = 50  # on one page of the list
_NAMED = re.compile(r"\b([a-z_]+)=")
FILTERS = ("actor", "actor_kind", "action", "since", "until")


def list_audit(visit: Visit) -> Document | Redirect:
    """List the entries that match the filters, newest first."""
    filters = {name: visit.query.get(name, "").strip() for name in FILTERS}
    if filters["actor_kind"] not in ACTOR_KINDS:
        filters["actor_kind"] = ""
    before = visit.query.get("before", "")
    number = int(before) if before.isdecimal() and len(before) < 16 else 0
    entries: list[AuditEntry] = visit.run(
        "looseleaf/list-audit", limit=MOST + 1, number=number, **filters
    )
    query = {name: text for name, text in filters.items() if text}
    last = entries[MOST - 1].number if len(entries) > MOST else 0
    data = {
        "entries": entries[:MOST],
        "chosen": filters,
        "kinds": ACTOR_KINDS,
        "is_filtered": bool(query),
        "is_first": not number,
        "newest": f"{ADDRESS}?{urlencode(query)}",
        "next": f"{ADDRESS}?{urlencode({**query, 'before': last})}" if last else "",
        "verdict": visit.run("looseleaf/verify-audit") if visit.query.get("verify") else None,
        "describe_action": describe_action,
        "describe_target": describe_target,
    }
    return Document("operation/audit.html", "Audit", data)


def describe_action(action: str) -> str:
    """Write the name of an action for people: looseleaf/create-token becomes create token."""
    return (action.partition("/")[2] or action).replace("-", " ").replace("_", " ")


def describe_target(target: str) -> str:
    """Write what was changed for people: agent=ada becomes agent ada."""
    return _NAMED.sub(r"\1 ", target)
