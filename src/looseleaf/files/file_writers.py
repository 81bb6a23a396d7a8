"""Whether another program has a file open for writing, as far as the system tells."""

from __future__ import annotations

import fcntl
import time

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
