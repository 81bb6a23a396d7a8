"""A limit on event streams that are open at once, of a server and of one credential."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.web.http.request_errors import RequestError

if TYPE_CHECKING:
    from starlette.requests import Request

MOST_STREAMS = 200  # of one server
MOST_OF_ONE = 20  # of one credential: a browser opens few, and a leak of streams ends here


class OpenStreams:
    """The numbers of open streams, in total and by credential."""

    def __init__(self) -> None:
        self._count: dict[str, int] = {}

    def take(self, credential: str) -> None:
        """Count a stream, or refuse it."""
        count = self._count.get(credential, 0)
        if count >= MOST_OF_ONE or sum(self._count.values()) >= MOST_STREAMS:
            message = "Too many event streams are open. Close some of them."
            raise RequestError(429, "too_many_streams", message, headers={"retry-after": "60"})
        self._count[credential] = count + 1

    def leave(self, credential: str) -> None:
        """Stop counting a stream."""
        self._count[credential] -= 1
        if not self._count[credential]:
            del self._count[credential]


def streams_of(request: Request) -> OpenStreams:
    """Return the open streams of the server that answers a request."""
    streams: OpenStreams = request.app.state.open_streams
    return streams
