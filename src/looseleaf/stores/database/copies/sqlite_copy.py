"""A consistent copy of an SQLite file that others use, by SQLite's own backup."""

from __future__ import annotations

import os
import sqlite3

from looseleaf.errors import Unavailable
from looseleaf.files import atomic
from looseleaf.stores.database.sqlite_file import address_of, check_plain

_PAGES_AT_ONCE = 4_096
_BUSY_SECONDS = 30.0


def copy_database(file: str, folder: int, name: str, target: str) -> str:
    """Copy the database into a new file of an open folder, whose path is `target`.

    The copy is the state at one moment: a read transaction holds it, and with a write-ahead log
    readers keep no writer waiting. The result is the first fault that SQLite finds in the copy, or
    "".
    """
    label = os.path.basename(file)
    check_plain(file, label)
    fd, _ = atomic.create(folder, name, b"")
    os.close(fd)
    try:
        source = sqlite3.connect(address_of(file), uri=True, timeout=_BUSY_SECONDS)
        copy = sqlite3.connect(address_of(target), uri=True, isolation_level=None)
        try:
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM sqlite_master").fetchone()
            source.backup(copy, pages=_PAGES_AT_ONCE)
            source.rollback()
            # One plain file, without a log beside it, whatever the original is set to.
            copy.execute("PRAGMA journal_mode = DELETE")
            verdict = str(copy.execute("PRAGMA quick_check(1)").fetchone()[0])
        finally:
            copy.close()
            source.close()
    except sqlite3.Error as error:
        raise Unavailable(label, str(error)) from error
    return "" if verdict == "ok" else verdict
