"""A bundle as one zip archive: the same files give the same bytes; unpacking trusts nothing.

Files are stored, not compressed: another version of the deflate library gives other bytes.
"""

from __future__ import annotations

import io
import struct
import zlib

from looseleaf.bundles.zip_reader import ZipArchive, ZipLimits
from looseleaf.errors.bundles import InvalidArchive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MANIFEST = "manifest.json"
_VERSION = 20  # what a reader must understand: folders
_UNIX = 3 << 8 | _VERSION
_UTF_8 = 0x800
_FIRST_DAY = 1 << 5 | 1  # 1980-01-01, the first day of the format
_FILE_MODE = 0o100644 << 16
_HEADER_BYTES = 76  # of one file, its name aside: before its bytes, and in the directory
_END_BYTES = 22


def pack_files(files: Mapping[str, bytes]) -> bytes:
    """Write files as a zip archive, by name, with one fixed time."""
    body, directory = io.BytesIO(), io.BytesIO()
    for path in sorted(files):
        name, content = path.encode(), files[path]
        fields = (_UTF_8, 0, 0, _FIRST_DAY, zlib.crc32(content), len(content), len(content))
        offset = body.tell()
        body.write(struct.pack("<4s5H3L2H", b"PK\x03\x04", _VERSION, *fields, len(name), 0))
        body.write(name + content)
        places = (len(name), 0, 0, 0, 0, _FILE_MODE, offset)
        directory.write(
            struct.pack("<4s6H3L5H2L", b"PK\x01\x02", _UNIX, _VERSION, *fields, *places)
        )
        directory.write(name)
    end = (0, 0, len(files), len(files), directory.tell(), body.tell(), 0)
    body.write(directory.getvalue() + struct.pack("<4s4H2LH", b"PK\x05\x06", *end))
    return body.getvalue()


def find_excess(files: Mapping[str, bytes], limits: ZipLimits | None = None) -> str:
    """Return why an archive of these files is refused (too many, too large), or "" if it is not.

    Names are not checked.
    """
    limits = limits or ZipLimits()
    if len(files) > limits.files:
        return f"it has {len(files):,} files, and a bundle may have {limits.files:,}"
    for path, content in files.items():
        if len(content) > limits.file_bytes:
            return f"{path} has more than {limits.file_bytes:,} bytes"
    names = sum(2 * len(path.encode()) for path in files)
    size = _END_BYTES + _HEADER_BYTES * len(files) + names + sum(map(len, files.values()))
    if size > limits.archive_bytes:
        return f"it has {size:,} bytes, and a bundle may have {limits.archive_bytes:,}"
    return ""


def unpack_files(content: bytes, limits: ZipLimits | None = None) -> dict[str, bytes]:
    """Read every file of an archive; a single folder around all of them is left out."""
    archive = ZipArchive(io.BytesIO(content), limits)
    files = {entry.path: archive.read(entry) for entry in archive.entries}
    if MANIFEST in files:
        return files
    folders = {path.partition("/")[0] for path in files}
    if len(folders) == 1 and f"{(folder := folders.pop())}/{MANIFEST}" in files:
        return {path.removeprefix(f"{folder}/"): bytes_ for path, bytes_ in files.items()}
    raise InvalidArchive(MANIFEST, "the archive has no such file, so that it is no bundle")
