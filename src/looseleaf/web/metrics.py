"""Figures of this server process, in the text format that Prometheus reads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from starlette.responses import Response

from looseleaf.access.principals import authorize
from looseleaf.times import now
from looseleaf.web.rest.calls import authenticator_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Scope

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
