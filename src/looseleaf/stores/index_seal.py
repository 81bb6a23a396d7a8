"""The seal of an index file: a checksum of its bytes, by which a damaged file is known when opened.

SQLite does not notice most flipped bits in what it keeps; a search would miss pages by them. A
file that is sealed otherwise than it reads is made anew. While SQLite has a log (WAL) beside the
file, some process has it open or died with it, and nothing can be compared.
"""

from __future__ import annotations

import os
from binascii import crc32

from looseleaf import atomic

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

SUFFIX = "-sum"
_CHUNK = 1 << 18  # fits into a cache of the processor


def is_sealed(path: str) -> bool | None:
    """Say whether a file is as it was sealed; None where nothing can be compared."""
    if os.path.exists(f"{path}-wal"):
        return None
    try:
        with open(path, "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return None
        with open(path + SUFFIX, "rb") as file:
            seal = file.read(_CHUNK)
    except FileNotFoundError:
        return False if os.path.exists(path) else None
    return seal == _checksum(path)


def is_abandoned(path: str) -> bool:
    """Say whether a file was left without a seal, so that the next search makes it anew."""
    return not os.path.exists(f"{path}-wal") and not os.path.exists(path + SUFFIX)


def seal(path: str, sql: sqlite3.Connection, mode: int) -> None:
    """Move SQLite's log into the file, and note the checksum of the whole."""
    busy, frames, moved = sql.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if busy or frames != moved:
        return  # another process has it open, and seals it
    folder = os.open(os.path.dirname(path), atomic.FOLDER)
    try:
        atomic.overwrite(folder, os.path.basename(path) + SUFFIX, _checksum(path), mode=mode)
    finally:
        os.close(folder)


def _checksum(path: str) -> bytes:
    total, size = 0, 0
    buffer = bytearray(_CHUNK)
    view = memoryview(buffer)
    with open(path, "rb", buffering=0) as file:
        while count := file.readinto(buffer):
            total, size = crc32(view[:count], total), size + count
    return b"%08x %020d\n" % (total, size)
