"""The lock on a folder that backups are written into, or that a workspace is restored into."""

from __future__ import annotations

import os
from contextlib import contextmanager

from looseleaf.errors import InUse, Locked
from looseleaf.files import atomic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def open_locked_folder(path: str, activity: str) -> Iterator[int]:
    """Open a folder for one process at a time, and create it if it is missing.

    `activity` names what the process does, for the message to a second one.
    """
    os.makedirs(path, mode=0o700, exist_ok=True)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            atomic.lock(folder, path, seconds=0.0)
        except Locked:
            reason = f"another {activity} is under way in it; wait for its end"
            raise InUse(path, reason) from None
        yield folder
    finally:
        os.close(folder)
