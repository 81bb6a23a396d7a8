"""What the system knows about files: mount points, programs that write them, and sizes."""

from __future__ import annotations

import fcntl
import re
import time

# The mount points of this machine: which file system a folder lies on.


MOUNTS = "/proc/self/mountinfo"
# The kernel writes blanks, tabs, line ends and backslashes of a path as three octal digits.
_OCTAL = re.compile(r"\\([0-7]{3})")


def file_system_of(path: str) -> str:
    """Name the file system that a path lies on, or "" if the system has no list of mounts."""
    try:
        with open(MOUNTS, encoding="utf-8", errors="surrogateescape") as mounts:
            lines = mounts.read().splitlines()
    except FileNotFoundError:
        return ""
    return find_file_system(path, lines)


def find_file_system(path: str, lines: list[str]) -> str:
    """Find the file system of a path in the lines of a list of mounts; a later mount wins."""
    innermost, kind = "", ""
    for line in lines:
        mount, _, file_system = line.partition(" - ")
        point = _OCTAL.sub(_decode_octal, mount.split(" ")[4])
        is_inside = path == point or path.startswith(point.rstrip("/") + "/")
        if is_inside and len(point) >= len(innermost):
            innermost, kind = point, file_system.split(" ")[0]
    return kind


def _decode_octal(match: re.Match[str]) -> str:
    return chr(int(match[1], 8))


# Whether another program has a file open for writing, as far as the system tells.


WRITER_SECONDS = 0.5
_SET_LEASE: int | None = getattr(fcntl, "F_SETLEASE", None)
_HARMLESS = 23  # SIGURG, which is ignored; the kernel sends it when a program opens the file


def wait_for_writers(fd: int, *, is_retry: bool = False) -> None:
    """Wait until no program has this file open for writing, as far as the system tells.

    The wait is short, since a program may keep a file open for days. The descriptor is open for
    reading only; `is_retry` says that this is not its first wait.
    """
    if not has_writers(fd, is_retry=is_retry):
        return
    deadline = time.monotonic() + WRITER_SECONDS
    while time.monotonic() < deadline and has_writers(fd, is_retry=True):
        time.sleep(0.001)


def has_writers(fd: int, *, is_retry: bool = False) -> bool:
    """Return whether a program has this file open for writing, as far as the system tells.

    Linux gives a lease only on a file that no program has open for writing.
    """
    if _SET_LEASE is None:
        return False
    try:
        if not is_retry:  # a descriptor keeps its signal
            fcntl.fcntl(fd, fcntl.F_SETSIG, _HARMLESS)
        fcntl.fcntl(fd, _SET_LEASE, fcntl.F_RDLCK)
    except BlockingIOError:
        return True
    except OSError:
        return False  # someone else's file, or a file system without leases
    fcntl.fcntl(fd, _SET_LEASE, fcntl.F_UNLCK)
    return False


# Sizes of files as people read them.


_UNITS = (("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1_000))
_LEAST_STEPS = 10


def format_size(size: int) -> str:
    """Write a number of bytes briefly: 1 byte, 950 bytes, 1.5 KB, 20.0 MB."""
    for unit, factor in _UNITS:
        # A size that would be rounded to 1,000 of a unit is shown as 1 of the next unit.
        if size >= factor - factor // 20_000:
            return f"{size / factor:,.1f} {unit}"
    return "1 byte" if size == 1 else f"{size} bytes"


def choose_unit(total: int) -> tuple[str, int]:
    """Return name and size of a unit in which progress up to a total has several steps."""
    for unit, factor in _UNITS[1:]:
        if total >= factor * _LEAST_STEPS:
            return unit, factor
    return "bytes", 1
