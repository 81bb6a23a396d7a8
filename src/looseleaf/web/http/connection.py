"""HTTP connections that are closed when a request head is too slow or too large."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING, ClassVar, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from looseleaf.web.http.guard import ABSOLUTE_TARGET, EVERY_HEADER
from looseleaf.web.http.responses import encode_json

if TYPE_CHECKING:
    import asyncio

    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

HEAD_SECONDS = 15.0
# Beyond this number, the oldest idle connection is closed.
MOST_CONNECTIONS = min(1000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
MOST_HEAD_BYTES = 65_536
STOPPING = "looseleaf.stopping"  # set in the scope of a request while the server stops


class TimedConnection(HttpToolsProtocol):
    """Limits the time for the head of a request; uvicorn itself would wait for ever."""

    _timer: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _in_head = False
    _open: ClassVar[dict[TimedConnection, None]] = {}  # in the order of arrival

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for the first request."""
        super().connection_made(transport)
        if len(self._open) >= MOST_CONNECTIONS:
            self._close_idle()
        self._open[self] = None
        self._timer = self.loop.call_later(HEAD_SECONDS, self._close_connection)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._open.pop(self, None)
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Process data, unless the head has grown too large."""
        super().data_received(data)
        if not self._in_head:
            return
        self._head_bytes += len(data)
        if self._head_bytes > MOST_HEAD_BYTES:
            self.send_400_response("The head of the request is too large.")
        elif self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self._close_connection)

    def on_message_begin(self) -> None:
        """Mark the start of a head."""
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Mark the end of a head; most heads arrive at once, without a timer."""
        self._in_head = False
        if self._timer is not None:
            self._stop_timer()
        if not self.url.startswith(b"/"):
            # uvicorn would silently use the path of an absolute target.
            cast("dict[str, object]", self.scope)[ABSOLUTE_TARGET] = True
        super().on_headers_complete()

    def shutdown(self) -> None:
        """Notify a stream, which would go on while it is read, that the server stops."""
        if self._is_answering:
            cast("dict[str, object]", self.scope)[STOPPING] = True
        super().shutdown()

    @property
    def _is_answering(self) -> bool:
        """Whether a complete request waits for its response."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.more_body and not cycle.response_complete

    def _close_idle(self) -> None:
        """Close the oldest idle connection."""
        for connection in self._open:
            if not connection._is_answering:  # noqa: SLF001 - of the same class
                del self._open[connection]
                connection._close_connection()  # noqa: SLF001
                return

    def send_400_response(self, msg: str) -> None:
        """Refuse data that is not HTTP, with the envelope and headers of all responses."""
        document = {"code": "invalid_request", "message": msg, "data": {"status": 400}}
        body = encode_json(document)
        lines = [
            b"HTTP/1.1 400 Bad Request",
            b"content-type: application/json",
            b"content-length: %d" % len(body),
            b"connection: close",
            *(b"%s: %s" % header for header in EVERY_HEADER),
        ]
        if not self.transport.is_closing():
            self.transport.write(b"\r\n".join([*lines, b"", body]))
            self.transport.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close_connection(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()
