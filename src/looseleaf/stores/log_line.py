"""A line of a page's log: JSON that ends with a checksum of all that stands before it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CHECKSUM = "sum"
_SEPARATOR = b',"sum":"'


def encode_line(entry: dict[str, Any]) -> bytes:
    """Write an entry as a line."""
    import json

    content = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()[:-1]
    return content + _SEPARATOR + _checksum(content) + b'"}\n'


def is_intact(line: bytes) -> bool:
    """Say whether a line is what was written; a line of before there were checksums is."""
    content, separator, end = line.rpartition(_SEPARATOR)
    if not separator:
        return not _ends_with_checksum(line)
    return end == _checksum(content) + b'"}'


def _checksum(content: bytes) -> bytes:
    from binascii import crc32

    return b"%08x" % crc32(content)


def _ends_with_checksum(line: bytes) -> bool:
    """Find a checksum whose name is damaged."""
    digits = line[-10:-2]
    return line.endswith(b'"}') and len(digits) == 8 and not digits.strip(b"0123456789abcdef")
