"""Settings made while running, and the audit, in SQLite by the driver alone.

`looseleaf mcp` starts with every session of a coding agent; importing SQLAlchemy would take longer
than all else it does, and as much memory, so these two use the driver alone. Accounts, tokens
and conversations need the whole database (`stores/database/database.py`), which also creates and
migrates the file.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from _thread import allocate_lock

from looseleaf.errors import DiskFull, Unavailable
from looseleaf.stores.database.audit_chain import AuditAnchor, append_entry
from looseleaf.stores.database.sqlite_file import FILE, OpenFile, address_of, check_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from looseleaf.access.audit import Event


HEAD = "0008"  # the newest migration; a test compares it with the folder of migrations
SUBJECT = "The database"
BUSY_SECONDS = 30


def open_settings_and_audit(
    root: str, *, clock: Callable[[], float]
) -> SqliteSettingsAndAudit | None:
    """Open the settings and the audit of a workspace's database.

    None if the database is not of this version, or no plain file: then the whole database is
    opened, which migrates or refuses it.
    """
    file = os.path.join(root, FILE)
    try:
        status = os.lstat(file)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode) or not status.st_size:
        return None
    database = SqliteSettingsAndAudit(file, clock=clock)
    if database.revision() == HEAD:
        return database
    database.close()
    return None


class VersionWatch:
    """Tells cheaply whether anyone has changed accounts in an SQLite file since the last look."""

    def __init__(self, file: str) -> None:
        check_plain(file, SUBJECT)
        self.open_file = OpenFile(file, SUBJECT)
        self.sql = sqlite3.connect(
            address_of(file),
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            uri=True,
        )
        self._stamp, self._number = -1, 0

    def close(self) -> None:
        """Close the file."""
        self.sql.close()

    def version(self) -> int:
        """Return the number of changes of accounts so far."""
        self.open_file.require()
        # SQLite keeps this number in shared memory: it takes some microseconds, a query a hundred.
        stamp = self.sql.execute("PRAGMA data_version").fetchone()[0]
        if stamp != self._stamp:
            query = "SELECT number FROM state WHERE name = 'version'"
            self._number = self.sql.execute(query).fetchone()[0]
            self._stamp = stamp
        return self._number


class SqliteSettingsAndAudit:
    """Settings and audit in an SQLite file that `stores/database/database.py` has created."""

    def __init__(self, file: str, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = allocate_lock()
        with _DatabaseErrorContext():
            self._watch = VersionWatch(file)
            self._sql = self._watch.sql
        self._anchor = AuditAnchor(os.path.dirname(os.path.dirname(file)))

    def close(self) -> None:
        """Close the file."""
        self._watch.close()

    def revision(self) -> str:
        """Return the number of the newest migration that the file has, or "" if none."""
        try:
            row = self._sql.execute("SELECT version_num FROM alembic_version").fetchone()
        except sqlite3.DatabaseError:
            return ""
        return str(row[0]) if row else ""

    def version(self) -> int:
        """Return a number that grows with every change of accounts or settings."""
        with self._lock, _DatabaseErrorContext():
            return self._watch.version()

    def runtime_settings(self) -> Mapping[str, Any]:
        """Return every setting that was made while running, by name."""
        with self._lock, _DatabaseErrorContext():
            self._watch.open_file.require()
            rows = self._sql.execute("SELECT name, setting FROM settings ORDER BY name").fetchall()
        return {name: json.loads(setting) for name, setting in rows}

    def add_event(self, event: Event) -> None:
        """Add an event that changed no account to the audit."""
        with self._lock, _DatabaseErrorContext():
            self._watch.open_file.require()
            # As for every event of a page: the page has a history of its own, written durably.
            is_durable = self._anchor.is_due()
            self._sql.execute(f"PRAGMA synchronous = {'FULL' if is_durable else 'NORMAL'}")
            self._sql.execute("BEGIN IMMEDIATE")
            try:
                newest = append_entry(self._execute, event, self._clock())
                self._sql.execute("COMMIT")
            except BaseException:
                if self._sql.in_transaction:
                    self._sql.execute("ROLLBACK")
                raise
            if is_durable:
                self._anchor.note(*newest, self._find_hash, self._find_removed)

    def _find_hash(self, number: int) -> str:
        rows = self._execute("SELECT hash FROM audit WHERE number = ?", (number,))
        return rows[0][0] if rows else ""

    def _find_removed(self) -> tuple[int, str]:
        rows = self._execute("SELECT number, previous FROM audit ORDER BY number LIMIT 1", ())
        return (rows[0][0] - 1, rows[0][1]) if rows else (0, "")

    def _execute(self, statement: str, parameters: tuple[object, ...]) -> list[Any]:
        return self._sql.execute(statement, parameters).fetchall()


class _DatabaseErrorContext:
    """Turn SQLite's errors inside a `with` block into our own."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, sqlite3.Error):
            message = str(error).partition("\n")[0]
            full = "is full" in message
            raise (DiskFull(SUBJECT) if full else Unavailable(SUBJECT, message)) from error
