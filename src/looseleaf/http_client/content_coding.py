"""Compressed answers, unpacked no further than the limit of the request."""

from __future__ import annotations

import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}


class BodyTooLarge(Exception):
    """An answer has more bytes than the request takes."""


class BodyUnreadable(Exception):
    """An answer is compressed in a way that cannot be unpacked."""


def read_body(parts: Iterable[bytes], coding: str, limit: int) -> bytes:
    """Join the parts of an answer and decompress it, never holding more bytes than the limit."""
    raw_bytes = bytearray()
    for part in parts:
        raw_bytes += part
        if len(raw_bytes) > limit:
            raise BodyTooLarge
    coding = coding.strip().lower()
    if coding in ("", "identity"):
        return bytes(raw_bytes)
    if coding not in _WINDOWS:
        raise BodyUnreadable
    unpacker = zlib.decompressobj(_WINDOWS[coding])
    try:
        body = unpacker.decompress(bytes(raw_bytes), limit + 1)
    except zlib.error:
        raise BodyUnreadable from None
    if len(body) > limit:
        raise BodyTooLarge
    if not unpacker.eof:
        raise BodyUnreadable
    return body
