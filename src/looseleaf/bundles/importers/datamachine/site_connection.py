"""Requests to one site, in a bounded number, each answered by a JSON object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.errors.bundles import InvalidImport
from looseleaf.errors.workflows import RequestFailed
from looseleaf.workflows.steps.wordpress import build_request, read_answer

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from looseleaf.http_client.message import IncomingResponse, OutgoingRequest
    from looseleaf.setting_tables import WordPressSite

    Send = Callable[[OutgoingRequest], IncomingResponse]

MOST_REQUESTS = 20_000


class SiteConnection:
    """Asks one site, with its user and password."""

    def __init__(
        self, send: Send, site: WordPressSite, *, request_limit: int = MOST_REQUESTS
    ) -> None:
        self._send, self.site, self._request_limit = send, site, request_limit
        self._count = 0

    def ask(self, path: str, *, method: str = "GET", body: bytes = b"") -> dict[str, Any]:
        """Request a document, or raise `RequestFailed` or `RequestRefused`."""
        self._count += 1
        if self._count > self._request_limit:
            raise InvalidImport(
                f"{self.site.url} has more than {self._request_limit:,} pages. Import its "
                "datamachine-files folder instead."
            )
        request = build_request(self.site, path, method=method, body=body)
        document = read_answer(self.site, self._send(request), (200,))
        if not isinstance(document, dict):
            raise self.failure()
        return document

    def failure(self) -> RequestFailed:
        """Build the error for an answer that is not that of Data Machine."""
        return RequestFailed(self.site.url, "its answer is not that of Data Machine")
