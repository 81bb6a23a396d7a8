"""The seal of an index file: a checksum of its bytes, by which a damaged file is known when opened.

SQLite does not notice most flipped bits in what it keeps; a search would miss pages by them. A
file that is sealed otherwise than it reads is made anew. While SQLite has a log (WAL) beside the
file, some process has it open or died with it, and nothing can be compared.

Once the bytes were compared, the seal also notes the status of the file and the boot: until the
machine starts anew, a file that nobody has written since is not read again. A bit that a disk
loses meanwhile is found after the next start, or by the doctor.
"""

from __future__ import annotations

import os
import time
from binascii import crc32

from looseleaf import atomic
from looseleaf.folders import settled

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

SUFFIX = "-sum"
_CHUNK = 1 << 18  # fits into a cache of the processor
_BOOT = "/proc/sys/kernel/random/boot_id"
_STATUS_BYTES = 120  # room for the status of a file, so that a seal always has the same length


def is_sealed(path: str) -> bool | None:
    """Say whether a file is as it was sealed; None where nothing can be compared."""
    if os.path.exists(f"{path}-wal"):
        return None
    try:
        status = os.stat(path)
        with open(path + SUFFIX, "rb") as file:
            seal_bytes = file.read(_CHUNK)
    except FileNotFoundError:
        return False if os.path.exists(path) and os.stat(path).st_size else None
    if not status.st_size:
        return None
    checksum, _, known_status = seal_bytes.partition(b"\n")
    asked = time.time_ns()
    if known_status.strip() and known_status == _file_status(status, asked):
        return True
    if checksum != _checksum(path):
        return False
    _write(path, checksum + b"\n" + _file_status(os.stat(path), asked), status.st_mode & 0o777)
    return True


def is_abandoned(path: str) -> bool:
    """Say whether a file was left without a seal, so that the next search makes it anew."""
    return not os.path.exists(f"{path}-wal") and not os.path.exists(path + SUFFIX)


def seal(path: str, sql: sqlite3.Connection, mode: int) -> None:
    """Move SQLite's log into the file, and note the checksum of the whole."""
    busy, frames, moved = sql.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if busy or frames != moved:
        return  # another process has it open, and seals it
    _write(path, _checksum(path) + b"\n" + b" " * _STATUS_BYTES, mode)


def _write(path: str, seal_bytes: bytes, mode: int) -> None:
    folder = os.open(os.path.dirname(path), atomic.FOLDER)
    try:
        atomic.overwrite(folder, os.path.basename(path) + SUFFIX, seal_bytes, mode=mode)
    finally:
        os.close(folder)


def _file_status(status: os.stat_result, asked: int) -> bytes:
    """Write down what no writer leaves as it is; blanks where that cannot be told yet, or at all.

    A file that has just changed may change again without a new time.
    """
    try:
        with open(_BOOT, "rb") as file:
            boot = file.read().strip()
    except OSError:
        boot = b""  # not Linux
    if not boot or not settled(status.st_ctime_ns, asked):
        return b" " * _STATUS_BYTES
    numbers = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return (b"%d %d %d %d " % numbers + boot).ljust(_STATUS_BYTES)


def _checksum(path: str) -> bytes:
    total, size = 0, 0
    buffer = bytearray(_CHUNK)
    view = memoryview(buffer)
    with open(path, "rb", buffering=0) as file:
        while count := file.readinto(buffer):
            total, size = crc32(view[:count], total), size + count
    return b"%08x %020d" % (total, size)
