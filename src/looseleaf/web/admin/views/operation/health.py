"""Health: the findings of the doctor in the workspace, each with advice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.plugins.admin_pages import Document, Redirect

if TYPE_CHECKING:
    from looseleaf.plugins.admin_pages import Visit
    from looseleaf.upkeep.finding import Finding

ORDER = ("fault", "warning", "ok")
WORDS = {"fault": "Fault", "warning": "Look at this", "ok": "In order"}


def show_health(visit: Visit) -> Document | Redirect:
    """Check the workspace now; findings that need a look come first."""
    is_thorough = bool(visit.query.get("verify"))
    findings: list[Finding] = visit.run("looseleaf/check-workspace", verify=is_thorough)
    by_status = {
        name: [finding for finding in findings if finding.status == name] for name in ORDER
    }
    data = {
        "findings": by_status,
        "words": WORDS,
        "is_thorough": is_thorough,
        "counts": {name: len(group) for name, group in by_status.items()},
    }
    return Document("operation/health.html", "Health", data)
