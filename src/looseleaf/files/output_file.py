"""A large file that is written piece by piece, with its hash; its end can be removed again."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import NamedTuple

from looseleaf.files import atomic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_CHUNK = 1 << 20


class Mark(NamedTuple):
    """A position to which a file can be rewound, until a later position is marked."""

    byte_count: int
    buffer_size: int


class OutputFile:
    """A new file that only its writer knows until it is finished."""

    def __init__(self, folder: int, name: str, *, mode: int = 0o600) -> None:
        self._fd, _ = atomic.create(folder, name, b"", mode=mode)
        self._buffer = bytearray()
        self._byte_count = 0
        self._digest = sha256()  # of the bytes in the file
        self._marked_digest: Any = None  # of the bytes at the mark, set by the first flush after it

    def write(self, content: bytes) -> None:
        """Add bytes to the end."""
        self._buffer += content
        if len(self._buffer) >= _CHUNK:
            self.flush()

    def position(self) -> int:
        """Return the number of bytes so far."""
        return self._byte_count + len(self._buffer)

    def hexdigest(self) -> str:
        """Return the sha256 of all bytes so far."""
        digest = self._digest.copy()
        digest.update(self._buffer)
        return digest.hexdigest()

    def mark(self) -> Mark:
        """Remember the position; marks are many, so a hash is copied only when it is needed."""
        self._marked_digest = None
        return Mark(self._byte_count, len(self._buffer))

    def rewind(self, mark: Mark) -> None:
        """Remove everything that was added since a mark."""
        if mark.byte_count != self._byte_count:
            remainder = os.pread(self._fd, mark.buffer_size, mark.byte_count)
            atomic.truncate(self._fd, mark.byte_count)
            os.lseek(self._fd, mark.byte_count, os.SEEK_SET)
            self._buffer = bytearray(remainder)
            self._byte_count, self._digest = mark.byte_count, self._marked_digest.copy()
        del self._buffer[mark.buffer_size :]

    def chunks(self) -> Iterator[bytes]:
        """Read back everything that was written."""
        self.flush()
        offset = 0
        while chunk := os.pread(self._fd, _CHUNK, offset):
            offset += len(chunk)
            yield chunk

    def finish(self) -> None:
        """Write the buffered bytes, and return when all bytes survive a power cut."""
        self.flush()
        atomic.sync(self._fd)

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def flush(self) -> None:
        """Write the buffered bytes; they may not survive a power cut yet."""
        atomic.write_all(self._fd, self._buffer)
        if self._marked_digest is None:
            self._marked_digest = self._digest.copy()
        self._digest.update(self._buffer)
        self._byte_count += len(self._buffer)
        self._buffer.clear()
