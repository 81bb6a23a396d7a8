"""Whether the server can do its work: open to all, so it says only what is the matter."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from starlette.responses import Response

from looseleaf.errors import (
    DiskFull,
    HistoryMissing,
    Locked,
    ModelFailed,
    TooBusy,
    TookTooLong,
    Unavailable,
    WorkspaceUnavailable,
)
from looseleaf.web.answers import JSON, encoded
from looseleaf.web.calls import reception_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from looseleaf.workspace import Workspace

RECENT_SECONDS = 60.0
# A model that fails, a page that someone holds, a store without history: the server is well.
# Whether the workspace is there is looked at anew each time.
_NOT_NOTED = (ModelFailed, Locked, HistoryMissing, TooBusy, TookTooLong, WorkspaceUnavailable)


class Trouble:
    """Remembers when a store last could not do its work."""

    def __init__(self) -> None:
        self._times: dict[str, float] = {}

    def note(self, error: Exception) -> None:
        """Remember an error that is neither the request's fault nor another server's."""
        if isinstance(error, Unavailable) and not isinstance(error, _NOT_NOTED):
            kind = "disk_full" if isinstance(error, DiskFull) else "unavailable"
            self._times[kind] = time.monotonic()

    def recent(self) -> list[str]:
        """Name what went wrong within the last minute."""
        since = time.monotonic() - RECENT_SECONDS
        return sorted(kind for kind, noted in self._times.items() if noted > since)


async def show_health(request: Request) -> Response:
    """Say whether all is well; degraded is 503, so that a load balancer looks elsewhere."""
    trouble: Trouble = request.app.state.trouble
    problems = [*_problems(reception_of(request).workspace), *trouble.recent()]
    told = {"status": "degraded" if problems else "ok", "problems": problems}
    return Response(encoded(told), 503 if problems else 200, media_type=JSON)


def _problems(workspace: Workspace) -> list[str]:
    try:
        workspace.root_folder.require()
    except WorkspaceUnavailable as error:
        return [error.code]
    found = []
    if not os.access(workspace.root, os.R_OK | os.W_OK | os.X_OK):
        found.append("root_not_writable")
    else:
        space = os.statvfs(workspace.root)
        if space.f_bavail * space.f_frsize < workspace.settings.max_page_bytes:
            found.append("disk_almost_full")
    try:
        workspace.accounts().version()
    except Unavailable:
        found.append("database_unavailable")
    return found
