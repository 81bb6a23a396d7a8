"""The request log: the last requests that this process of the server has answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.access.principals import authorize
from looseleaf.plugins.admin_pages import Document, Redirect

if TYPE_CHECKING:
    from looseleaf.plugins.admin_pages import Visit
    from looseleaf.web.http.recent_requests import RecentRequests

MOST = 100  # requests on the page
SLOW_SECONDS = 1.0
STATIC = "/static/"  # scripts and styles, which tell nothing about the use of a server


def list_requests(recent: RecentRequests, visit: Visit) -> Document | Redirect:
    """List the last requests without scripts and styles; only refused or slow ones if asked."""
    authorize(visit.context.principal, "audit")
    show = visit.query.get("show", "")
    entries = [
        entry
        for entry in recent.newest_first()
        if not entry.path.startswith(STATIC)
        if show not in ("problems", "slow")
        or (show == "problems" and (entry.status >= 400 or not entry.status))
        or (show == "slow" and entry.seconds >= SLOW_SECONDS)
    ]
    data = {
        "entries": entries[:MOST],
        "show": show,
        "kept": recent.capacity,
        "workers": visit.context.settings.workers,
    }
    return Document("operation/requests.html", "Requests", data)
