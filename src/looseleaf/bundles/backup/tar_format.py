"""The headers of a tar archive, as POSIX describes them (ustar, and pax for long names).

Only ordinary files and folders are written, and nothing else is read: no links, no devices, no
sparse files, no formats of single programs.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from looseleaf.errors.bundles import InvalidBackup

BLOCK = 512
END = bytes(2 * BLOCK)
FILE, FOLDER, EXTENDED = b"0", b"5", b"x"
MOST_EXTENDED_BYTES = 65_536
_LAYOUT = struct.Struct("100s8s8s8s12s12s8s1s100s6s2s32s32s8s8s155s12s")
_BLANK_SUM = b" " * 8
_MAGIC, _VERSION = b"ustar\0", b"00"
_NAME_BYTES, _PREFIX_BYTES = 100, 155
_LARGEST = 8**11
_MOST_PATH_BYTES, _MOST_SEGMENT_BYTES = 4_096, 255
_REST_BYTES = 12
_EXTENDED_NAME = b"././@PaxHeader"
_OWNER = b"0000000\0" * 2
_AFTER_KIND = bytes(100) + _MAGIC + _VERSION + bytes(64) + b"0000000\0" * 2
_CONSTANT_SUM = sum(_OWNER) + sum(_BLANK_SUM) + sum(_AFTER_KIND)


class Header(NamedTuple):
    """A member of an archive: what its header says."""

    path: bytes
    size: int
    file_mode: int
    mtime: int
    kind: bytes


def build_padding(size: int) -> bytes:
    """Return the zero bytes that fill up the last block of a content."""
    return bytes(-size % BLOCK)


def encode_header(header: Header) -> bytes:
    """Write a header: one block, or three if a name is long or a file has 8 GiB or more."""
    path = header.path + b"/" if header.kind == FOLDER else header.path
    names = _split_path(path)
    if names is not None and header.size < _LARGEST:
        return _encode_block(header, *names)
    records = _encode_record(b"path", path)
    if header.size >= _LARGEST:
        records += _encode_record(b"size", b"%d" % header.size)
        header = header._replace(size=0)
    extended_header = Header(_EXTENDED_NAME, len(records), 0o600, header.mtime, EXTENDED)
    return (
        _encode_block(extended_header, _EXTENDED_NAME, b"")
        + records
        + build_padding(len(records))
        + _encode_block(header, path[:_NAME_BYTES], b"")
    )


def parse_header(block: bytes) -> Header:
    """Read a block; raise `InvalidBackup` for everything that `encode_header` never writes."""
    fields = _LAYOUT.unpack(block)
    name, mode, uid, gid, size, mtime, checksum, kind, link, magic, version, *_owner = fields
    prefix, rest = fields[15:]
    content = block[:148] + _BLANK_SUM + block[156:]
    if (magic, version) != (_MAGIC, _VERSION) or _parse_octal(checksum) != sum(content):
        raise InvalidBackup("a header in it is damaged, or is not ustar")
    if kind not in (FILE, FOLDER, EXTENDED):
        raise InvalidBackup("it has a link, a device or another entry that is no plain file")
    if link.strip(b"\0") or rest.strip(b"\0") or _parse_octal(uid) or _parse_octal(gid):
        raise InvalidBackup("a header in it has fields that a backup never has")
    path = _text_of(prefix) + b"/" + _text_of(name) if _text_of(prefix) else _text_of(name)
    header = Header(
        path, _parse_octal(size), _parse_octal(mode) & 0o7777, _parse_octal(mtime), kind
    )
    if kind == FOLDER and header.size:
        raise InvalidBackup("a folder in it has a content")
    return header


def apply_extension(header: Header, content: bytes) -> Header:
    """Return a header the path and the size of the extended header before it."""
    rest = content
    while rest:
        length, blank, _ = rest.partition(b" ")
        is_number = blank and length.isdigit() and len(length) < 6
        record = rest[: int(length)] if is_number else b""
        key, equals, text = record[len(length) + 1 :].partition(b"=")
        if not equals or not text.endswith(b"\n") or len(record) != int(length):
            raise InvalidBackup("an extended header in it is damaged")
        rest = rest[len(record) :]
        if key == b"path":
            header = header._replace(path=text[:-1])
        elif key == b"size" and text[:-1].isdigit() and len(text) < 20:
            header = header._replace(size=int(text))
        else:
            raise InvalidBackup("an extended header has a field of another program")
    return header


def check_path(path: bytes) -> None:
    """Raise `InvalidBackup` for a path that is not plainly below the root."""
    segments = path.split(b"/")
    is_plain = (
        len(path) <= _MOST_PATH_BYTES
        and b"\0" not in path
        and all(
            segment not in (b"", b".", b"..") and len(segment) <= _MOST_SEGMENT_BYTES
            for segment in segments
        )
    )
    if not is_plain:
        raise InvalidBackup(f"the path {quote_path(path)} in it leads outside the workspace")


def quote_path(path: bytes) -> str:
    """Quote a path of an archive for a message, cut so that a hostile one does not fill it."""
    return repr(path[:200].decode("utf-8", "backslashreplace"))


def _encode_block(header: Header, name: bytes, prefix: bytes) -> bytes:
    mtime = min(max(header.mtime, 0), _LARGEST - 1)
    numbers = b"%011o\0%011o\0" % (header.size, mtime)
    mode = b"%07o\0" % header.file_mode
    # The rest of a block is the same in all of them, and its sum is known.
    checksum = _CONSTANT_SUM + sum(name) + sum(mode) + sum(numbers) + sum(prefix) + header.kind[0]
    return b"".join(
        (
            name.ljust(_NAME_BYTES, b"\0"),
            mode,
            _OWNER,
            numbers,
            b"%06o\0 " % checksum,
            header.kind,
            _AFTER_KIND,
            prefix.ljust(_PREFIX_BYTES + _REST_BYTES, b"\0"),
        )
    )


def _encode_record(key: bytes, text: bytes) -> bytes:
    """Write a record of an extended header, which begins with its own length."""
    body = b" %s=%s\n" % (key, text)
    length = len(body) + len(str(len(body)))
    length = len(body) + len(str(length))
    return b"%d%s" % (length, body)


def _split_path(path: bytes) -> tuple[bytes, bytes] | None:
    """Divide a path into a name and a prefix that fit, or None if it does not fit."""
    if len(path) <= _NAME_BYTES:
        return path, b""
    start = len(path) - _NAME_BYTES - 1
    slash = path.find(b"/", start, len(path) - 1)
    if slash < 0 or slash > _PREFIX_BYTES:
        return None
    return path[slash + 1 :], path[:slash]


def _text_of(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _parse_octal(field: bytes) -> int:
    digits = field.strip(b" \0")
    if digits and not digits.strip(b"01234567"):
        return int(digits, 8)
    raise InvalidBackup("a number in a header is damaged")
