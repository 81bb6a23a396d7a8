"""The health of the server, open to everyone and without details; figures for Prometheus."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync
from starlette.responses import Response

from looseleaf.access.principals import authorize
from looseleaf.errors import DiskFull, Unavailable
from looseleaf.plugins.features import call_features
from looseleaf.times import now
from looseleaf.web.http.responses import JSON, encode_json
from looseleaf.web.rest.calls import authenticator_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Scope

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
        if workspace.agents.folders is not None:
            workspace.agents.folders.slugs()
    except Unavailable as error:
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


# Figures of this server process, in the text format that Prometheus reads.


ROUTE = "looseleaf.route"  # the scope key of a request's route
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_METHODS = ("GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS")
TEXT = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counts requests by method, route and status, and their durations."""

    def __init__(self) -> None:
        self.start_time = now()
        self._requests: dict[tuple[str, str, int], int] = {}
        self._buckets = [0] * (len(BUCKETS) + 1)
        self._seconds = 0.0

    def count(self, scope: Scope, status: int, seconds: float) -> None:
        """Count one answered request; status 0 is a request that was aborted."""
        method = scope["method"] if scope["method"] in _METHODS else "other"
        key = (method, scope.get(ROUTE, "none"), status)
        self._requests[key] = self._requests.get(key, 0) + 1
        self._seconds += seconds
        for index, limit in enumerate(BUCKETS):
            if seconds <= limit:
                self._buckets[index] += 1
                return
        self._buckets[-1] += 1

    def text(self, failures: int) -> str:
        """Format all figures."""
        process = f'process="{os.getpid()}"'
        lines = [
            "# HELP looseleaf_requests_total Requests answered by this process.",
            "# TYPE looseleaf_requests_total counter",
        ]
        for (method, route, status), count in sorted(self._requests.items()):
            labels = f'{process},method="{method}",route="{route}",status="{status}"'
            lines.append(f"looseleaf_requests_total{{{labels}}} {count}")
        lines += [
            "# HELP looseleaf_request_seconds How long requests took.",
            "# TYPE looseleaf_request_seconds histogram",
        ]
        total = 0
        for limit, count in zip((*map(str, BUCKETS), "+Inf"), self._buckets, strict=True):
            total += count
            lines.append(f'looseleaf_request_seconds_bucket{{{process},le="{limit}"}} {total}')
        lines += [
            f"looseleaf_request_seconds_sum{{{process}}} {self._seconds:.6f}",
            f"looseleaf_request_seconds_count{{{process}}} {total}",
            "# HELP looseleaf_failed_logins_total Credentials that were wrong.",
            "# TYPE looseleaf_failed_logins_total counter",
            f"looseleaf_failed_logins_total{{{process}}} {failures}",
            "# HELP looseleaf_started_seconds When this process started, since 1970.",
            "# TYPE looseleaf_started_seconds gauge",
            f"looseleaf_started_seconds{{{process}}} {self.start_time:.3f}",
        ]
        return "\n".join(lines) + "\n"


async def show_metrics(request: Request) -> Response:
    """Return the figures, if the principal may read the logs."""
    authenticator = authenticator_of(request)
    authorize(authenticator.principal(request), "audit")
    metrics: Metrics = request.app.state.metrics
    return Response(metrics.text(authenticator.attempts.total), media_type=TEXT)
