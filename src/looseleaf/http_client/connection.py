"""One connection to an address that was checked, which ends when its time is over."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import httpcore2

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable
    from typing import Any

_SHORTEST_SECONDS = 0.001


class Deadline:
    """The time at which a request ends, whatever the server does."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def remaining(self) -> float:
        """Return the seconds that remain, or 0 if the time is over."""
        return max(self._end - time.monotonic(), 0.0)

    def require(self, error: type[Exception]) -> float:
        """Return the seconds that remain, or raise an error."""
        seconds = self.remaining()
        if seconds < _SHORTEST_SECONDS:
            raise error("the time of the request is over")
        return seconds


class CheckedBackend(httpcore2.NetworkBackend):
    """Connects to given addresses, one after the other, instead of to the name of the host."""

    def __init__(self, addresses: tuple[str, ...], deadline: Deadline) -> None:
        self._addresses, self._deadline = addresses, deadline
        self._sockets = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,  # noqa: ARG002 - the name; its addresses were checked already
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline of the whole request
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect to the first address that answers."""
        failure: Exception = httpcore2.ConnectError("there is no address")
        for index, address in enumerate(self._addresses):
            # A dead address must leave time for the next one.
            seconds = self._deadline.require(httpcore2.ConnectTimeout)
            try:
                stream = self._sockets.connect_tcp(
                    address,
                    port,
                    timeout=seconds / (len(self._addresses) - index),
                    local_address=local_address,
                    socket_options=socket_options or (),
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
            else:
                return BoundedStream(stream, self._deadline)
        raise failure


class BoundedStream(httpcore2.NetworkStream):
    """A connection whose every read and write ends at the deadline of the whole request."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: Deadline) -> None:
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        """Read the bytes that have arrived."""
        seconds = self._deadline.require(httpcore2.ReadTimeout)
        return self._stream.read(max_bytes, timeout=seconds)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        """Write everything, piece by piece, so that a server that reads nothing cannot block us."""
        for start in range(0, len(buffer), 65_536):
            seconds = self._deadline.require(httpcore2.WriteTimeout)
            self._stream.write(buffer[start : start + 65_536], timeout=seconds)

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore2.NetworkStream:
        """Encrypt the connection; the certificate must be that of the name, not of the address."""
        seconds = self._deadline.require(httpcore2.ConnectTimeout)
        stream = self._stream.start_tls(ssl_context, server_hostname, timeout=seconds)
        return BoundedStream(stream, self._deadline)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - as the library has it
        """Return information about the connection."""
        return self._stream.get_extra_info(info)
