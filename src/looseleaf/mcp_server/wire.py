"""Lines of JSON-RPC over standard input and output, which nothing else of the process can touch."""

from __future__ import annotations

import io
import json
import os
from _thread import allocate_lock

from looseleaf.errors import Unavailable
from looseleaf.mcp_server.offer import INVALID_REQUEST, PARSE_ERROR, ProtocolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

_CHUNK = 65_536


class Wire:
    """The two streams of one client; a line is one message."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._lock = allocate_lock()
        self._is_closed = False

    @classmethod
    def claim(cls) -> Wire:
        """Take standard input and output for the protocol alone.

        What a plugin or a library prints goes to standard error from now on, and what reads
        standard input finds nothing.
        """
        try:
            incoming, outgoing = os.dup(0), os.dup(1)
            os.dup2(2, 1)
            nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            os.dup2(nothing, 0)
            os.close(nothing)
        except OSError as error:
            raise Unavailable("Standard input or output", error.strerror) from error
        return cls(open(incoming, "rb"), io.BufferedWriter(io.FileIO(outgoing, "wb")))

    def lines(self, most_bytes: int) -> Iterator[bytes | None]:
        """Give each line as it comes; None in the place of one that is longer than allowed."""
        while line := self._incoming.readline(most_bytes + 1):
            if len(line) <= most_bytes or line.endswith(b"\n"):
                yield line
                continue
            while line and not line.endswith(b"\n"):
                line = self._incoming.readline(_CHUNK)
            yield None

    def send(self, message: dict[str, Any]) -> None:
        """Send a message; where the client has gone, nobody is left to tell."""
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        # No page has half a character, but the name of a file may: JSON can say it escaped.
        line = text.encode("utf-8", "backslashreplace") + b"\n"
        with self._lock:
            if self._is_closed:
                return
            try:
                self._outgoing.write(line)
                self._outgoing.flush()
            except OSError:
                self._is_closed = True


def parse_line(line: bytes) -> dict[str, Any]:
    """Give the message of a line, or raise a `ProtocolError`."""
    try:
        message = json.loads(line.decode(), parse_constant=_refuse_constant)
        if b"\\ud" in line or b"\\uD" in line:
            json.dumps(message, ensure_ascii=False).encode()  # half a character is no text
    except (ValueError, RecursionError) as error:
        raise ProtocolError(PARSE_ERROR, f"This line is not JSON ({error}).") from None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise ProtocolError(INVALID_REQUEST, 'A message is an object with "jsonrpc": "2.0".')
    return message


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")
