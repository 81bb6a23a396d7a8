"""Connections: those that send their request too slowly, or too large a head, are closed."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING, ClassVar, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from looseleaf.web.answers import encoded
from looseleaf.web.guard import ABSOLUTE_TARGET, EVERY_HEADER

if TYPE_CHECKING:
    import asyncio

HEAD_SECONDS = 15.0
# More than so many connections are not kept: the oldest that is not being answered is closed.
MOST_CONNECTIONS = min(1000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
MOST_HEAD_BYTES = 65_536


class PatientConnection(HttpToolsProtocol):
    """Waits a while for the head of a request; uvicorn itself would wait for ever."""

    _waiting: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _in_head = False
    _is_answering = False
    _open: ClassVar[dict[PatientConnection, None]] = {}  # in the order they came

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        if len(self._open) >= MOST_CONNECTIONS:
            self._close_one()
        self._open[self] = None
        self._waiting = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._open.pop(self, None)
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what has come, unless the head has grown too large."""
        super().data_received(data)
        if not self._in_head:
            return
        self._head_bytes += len(data)
        if self._head_bytes > MOST_HEAD_BYTES:
            self.send_400_response("The head of the request is too large.")
        elif self._waiting is None:
            self._waiting = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def on_message_begin(self) -> None:
        """Note that a head has begun."""
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note that the head is complete; mostly it is so at once, and no time was measured."""
        self._in_head = False
        if self._waiting is not None:
            self._stop_waiting()
        if not self.url.startswith(b"/"):
            # uvicorn would take the path out of it.
            cast("dict[str, object]", self.scope)[ABSOLUTE_TARGET] = True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that a request is here in full, so that its answer is waited for."""
        self._is_answering = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Note that the connection is idle again."""
        self._is_answering = False
        super().on_response_complete()

    def _close_one(self) -> None:
        """Close the oldest connection that sends slowly or not at all."""
        for one in self._open:
            if not one._is_answering:  # noqa: SLF001 - of the same class
                del self._open[one]
                one._give_up()  # noqa: SLF001
                return

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP in the words and with the headers that all answers have."""
        told = {"code": "invalid_request", "message": msg, "data": {"status": 400}}
        body = encoded(told)
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

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if not self.transport.is_closing():
            self.transport.close()
