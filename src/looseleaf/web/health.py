"""The health of the server: open to everyone, so it names problems without details."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync
from starlette.responses import Response

from looseleaf.errors import DiskFull, Unavailable, WorkspaceUnavailable
from looseleaf.plugins.features import call_features
from looseleaf.web.http.responses import JSON, encode_json
from looseleaf.web.rest.calls import authenticator_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from looseleaf.workspace import Workspace

RECENT_SECONDS = 60.0
# The kinds of Unavailable that the server itself causes: a store that fails, and a full disk. All
# other kinds have another cause: a model, another server, one page. The workspace folder is
# checked at every request.
_STORE_FAULTS: dict[type[Exception], str] = {Unavailable: "unavailable", DiskFull: "disk_full"}


class RecentFaults:
    """The times at which a store last failed."""

    def __init__(self) -> None:
        self._times: dict[str, float] = {}

    def note(self, error: Exception) -> None:
        """Store the time of an error that neither the request nor another server caused."""
        kind = _STORE_FAULTS.get(type(error))
        if kind is not None:
            self._times[kind] = time.monotonic()

    def recent(self) -> list[str]:
        """Name the faults of the last minute."""
        since = time.monotonic() - RECENT_SECONDS
        return sorted(kind for kind, fault_time in self._times.items() if fault_time > since)


async def show_health(request: Request) -> Response:
    """Report the health; degraded is 503, so that a load balancer uses another server."""
    faults: RecentFaults = request.app.state.recent_faults
    problems = [*_list_problems(authenticator_of(request).workspace), *faults.recent()]
    workspace = authenticator_of(request).workspace
    tasks: TaskAttention = request.app.state.task_attention
    attention = [] if problems else await run_sync(tasks.types, workspace)
    status = "degraded" if problems else "ok"
    report: dict[str, object] = {"status": status, "problems": problems}
    if attention:
        report["upkeep"] = attention
    return Response(encode_json(report), 503 if problems else 200, media_type=JSON)


class TaskAttention:
    """The system tasks that people should look at, looked up at most once a minute."""

    def __init__(self) -> None:
        self._types: list[str] = []
        self._time = -RECENT_SECONDS

    def types(self, workspace: Workspace) -> list[str]:
        """Name the tasks that are overdue or failed repeatedly; they never degrade the server."""
        if time.monotonic() - self._time >= RECENT_SECONDS:
            self._time = time.monotonic()  # requests in the meantime use the old list
            types: set[str] = set()
            call_features("list_attention", types=types, workspace=workspace)
            self._types = sorted(types)
        return self._types


def _list_problems(workspace: Workspace) -> list[str]:
    try:
        workspace.root_folder.require()
    except WorkspaceUnavailable as error:
        return [error.code]
    problems = []
    if not os.access(workspace.root, os.R_OK | os.W_OK | os.X_OK):
        problems.append("root_not_writable")
    else:
        space = os.statvfs(workspace.root)
        if space.f_bavail * space.f_frsize < workspace.settings.max_page_bytes:
            problems.append("disk_almost_full")
    try:
        workspace.accounts().version()
    except Unavailable:
        problems.append("database_unavailable")
    return problems
