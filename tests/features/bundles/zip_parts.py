"""Zip archives written byte by byte, so that a test can make any part of them wrong."""

from __future__ import annotations

import struct
import zlib
from typing import Any, NamedTuple

UNIX = 3 << 8 | 20


class Part(NamedTuple):
    """A file of an archive; the fields after the content stand in its headers as they are."""

    name: str | bytes
    content: bytes = b"x"
    method: int = 8
    flags: int = 0
    mode: int = 0o100600
    size: int | None = None
    checksum: int | None = None
    packed: bytes | None = None
    local_name: str | None = None
    offset: int | None = None


def build_zip(*parts: Part, comment: bytes = b"", end: dict[str, Any] | None = None) -> bytes:
    """Write an archive of parts, as they are; `end` overrides fields of the end record."""
    body, directory = b"", b""
    for part in parts:
        name = part.name.encode() if isinstance(part.name, str) else part.name
        compressed_bytes = deflate(part.content) if part.method == 8 else part.content
        compressed_bytes = compressed_bytes if part.packed is None else part.packed
        size = len(part.content) if part.size is None else part.size
        checksum = zlib.crc32(part.content) if part.checksum is None else part.checksum
        offset = len(body) if part.offset is None else part.offset
        fields = (part.flags, part.method, 0, 33, checksum, len(compressed_bytes), size)
        directory += struct.pack(
            "<4s6H3L5H2L",
            *(b"PK\x01\x02", UNIX, 20, *fields, len(name), 0, 0, 0, 0, part.mode << 16, offset),
        )
        directory += name
        if part.offset is None:
            local = name if part.local_name is None else part.local_name.encode()
            body += struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, *fields, len(local), 0)
            body += local + compressed_bytes
    last = {"count": len(parts), "length": len(directory), "start": len(body)} | (end or {})
    return (
        body
        + directory
        + struct.pack(
            "<4s4H2LH",
            *(b"PK\x05\x06", 0, 0, last["count"], last["count"]),
            *(last["length"], last["start"], len(comment)),
        )
        + comment
    )


def deflate(content: bytes) -> bytes:
    """Compress bytes as a zip archive holds them."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return compressor.compress(content) + compressor.flush()
