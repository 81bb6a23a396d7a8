"""Lines of JSON-RPC over standard input and output, reserved for the protocol."""

from __future__ import annotations

import io
import json
import os
from _thread import allocate_lock

from looseleaf.errors import Unavailable
from looseleaf.mcp_server.features import INVALID_REQUEST, PARSE_ERROR, ProtocolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

_CHUNK = 65_536


class JsonLines:
    """The two streams of one client; each line is one message."""

    def __init__(self, input_stream: BinaryIO, output_stream: BinaryIO) -> None:
        self._input, self._output = input_stream, output_stream
        self._lock = allocate_lock()
        self._is_closed = False

    @classmethod
    def claim(cls) -> JsonLines:
        """Take standard input and output for the protocol alone.

        The output of plugins and libraries goes to standard error from now on, and their standard
        input is empty.
        """
        try:
            input_fd, output_fd = os.dup(0), os.dup(1)
            os.dup2(2, 1)
            null_fd = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            os.dup2(null_fd, 0)
            os.close(null_fd)
        except OSError as error:
            raise Unavailable("Standard input or output", error.strerror) from error
        return cls(open(input_fd, "rb"), io.BufferedWriter(io.FileIO(output_fd, "wb")))

    def lines(self, most_bytes: int) -> Iterator[bytes | None]:
        """Yield each line as it comes; None in the place of a line that is too long."""
        while line := self._input.readline(most_bytes + 1):
            if len(line) <= most_bytes or line.endswith(b"\n"):
                yield line
                continue
            while line and not line.endswith(b"\n"):
                line = self._input.readline(_CHUNK)
            yield None

    def send(self, message: dict[str, Any]) -> None:
        """Send a message; ignored if the client has closed the connection."""
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        # The name of a file may hold a lone surrogate, which JSON can escape.
        line = text.encode("utf-8", "backslashreplace") + b"\n"
        with self._lock:
            if self._is_closed:
                return
            try:
                self._output.write(line)
                self._output.flush()
            except OSError:
                self._is_closed = True


def parse_line(line: bytes) -> dict[str, Any]:
    """Parse the message of a line, or raise a `ProtocolError`."""
    try:
        message = json.loads(line.decode(), parse_constant=_refuse_constant)
        if b"\\ud" in line or b"\\uD" in line:
            json.dumps(message, ensure_ascii=False).encode()  # fails for a lone surrogate
    except (ValueError, RecursionError) as error:
        raise ProtocolError(PARSE_ERROR, f"This line is not JSON ({error}).") from None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise ProtocolError(INVALID_REQUEST, 'A message must be an object with "jsonrpc": "2.0".')
    return message


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")
