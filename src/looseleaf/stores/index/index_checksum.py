"""The seal of an index file: a checksum of its bytes, which shows damage when the file is opened.

SQLite does not notice most flipped bits in its file, and a search would then miss pages. A file
that does not match its seal is rebuilt. While SQLite has a log (WAL) beside the file, a process has
the file open or died with it, and nothing can be compared.

After a comparison the seal also stores the status of the file and the id of the boot: until the
next boot, a file that nobody has written is not read again. A bit that a disk loses meanwhile is
found after the next boot, or by the doctor.
"""

from __future__ import annotations

import os
import time
from binascii import crc32
from io import FileIO

from looseleaf.files import atomic
from looseleaf.files.folders import is_settled

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

SUFFIX = "-sum"
_CHUNK = 1 << 18  # fits into a cache of the processor
_BOOT = "/proc/sys/kernel/random/boot_id"
_STATUS_BYTES = 120  # space for the status of a file, so that every seal has the same length


def is_sealed(path: str) -> bool | None:
    """Return whether a file matches its seal, or None if nothing can be compared."""
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
    checked_at = time.time_ns()
    if known_status.strip() and known_status == _format_status(status, checked_at):
        return True
    if checksum != _compute_checksum(path):
        return False
    _write(path, checksum + b"\n" + _format_status(os.stat(path), checked_at))
    return True


def is_abandoned(path: str) -> bool:
    """Return whether a file has no seal, so that the next search rebuilds it."""
    return not os.path.exists(f"{path}-wal") and not os.path.exists(path + SUFFIX)


def seal(path: str, sql: sqlite3.Connection) -> None:
    """Move SQLite's log into the file, and store the checksum of the whole file."""
    is_busy, log_frames, moved_frames = sql.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if is_busy or log_frames != moved_frames:
        return  # another process has the file open, and seals it
    _write(path, _compute_checksum(path) + b"\n" + b" " * _STATUS_BYTES)


def _write(path: str, seal_bytes: bytes) -> None:
    folder = os.open(os.path.dirname(path), atomic.FOLDER)
    try:
        atomic.overwrite(folder, os.path.basename(path) + SUFFIX, seal_bytes)
    finally:
        os.close(folder)


def _format_status(status: os.stat_result, checked_at: int) -> bytes:
    """Format the parts of a status that every write changes; blanks if they are not reliable.

    A file that has just changed may change again without a new time.
    """
    try:
        with open(_BOOT, "rb") as file:
            boot = file.read().strip()
    except OSError:
        boot = b""  # not Linux
    if not boot or not is_settled(status.st_ctime_ns, checked_at):
        return b" " * _STATUS_BYTES
    numbers = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return (b"%d %d %d %d " % numbers + boot).ljust(_STATUS_BYTES)


def _compute_checksum(path: str) -> bytes:
    total, size = 0, 0
    buffer = bytearray(_CHUNK)
    view = memoryview(buffer)
    # A workspace may be closed at the end of Python, when `open` is gone.
    with FileIO(path) as file:
        while count := file.readinto(buffer):
            total, size = crc32(view[:count], total), size + count
    return b"%08x %020d" % (total, size)
