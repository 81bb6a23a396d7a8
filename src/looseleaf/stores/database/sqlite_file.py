"""The files of SQLite, which follows links and creates missing files; both are refused here."""

from __future__ import annotations

import os
import stat

from looseleaf.errors import Unavailable, Unsafe

FILE = ".looseleaf/looseleaf.db"  # below the root of a workspace
_SUFFIXES = ("", "-wal", "-shm", "-journal")


def check_plain(file: str, subject: str) -> None:
    """Raise `Unsafe` if a database, or a file beside it, is a link or no ordinary file."""
    folder = _mode_of(os.path.dirname(file))
    if folder and not stat.S_ISDIR(folder):
        raise Unsafe(subject, "a link or a file stands where its folder should be")
    for ending in _SUFFIXES:
        mode = _mode_of(file + ending)
        if mode and not stat.S_ISREG(mode):
            name = os.path.basename(file) + ending
            raise Unsafe(
                subject, f"{name} is a link or no ordinary file; put the file itself there"
            )


class OpenFile:
    """The file that connections were opened to; SQLite would go on writing to a removed file."""

    def __init__(self, file: str, subject: str) -> None:
        self._file, self._subject = file, subject
        self._place = _place_of(file)

    def require(self) -> None:
        """Raise `Unavailable` unless the same file is at its path: other writes would be lost."""
        place = _place_of(self._file)
        if place != self._place:
            reason = (
                "another file is in its place; restart the processes that use it"
                if place
                else "its file is gone; put it back"
            )
            raise Unavailable(self._subject, reason)


def address_of(file: str) -> str:
    """Return the address by which SQLite opens an existing file, and creates none."""
    signs = {"%": "%25", "?": "%3f", "#": "%23"}
    return f"file:{''.join(signs.get(sign, sign) for sign in file)}?mode=rw"


def _place_of(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _mode_of(path: str) -> int:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0  # missing, which SQLite reports itself
