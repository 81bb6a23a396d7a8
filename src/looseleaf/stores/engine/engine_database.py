"""The database of the engine: its own SQLite file beside the pages, or a schema of PostgreSQL."""

from __future__ import annotations

import os
import sqlite3
import time

import sqlalchemy as sa
from sqlalchemy import event

from looseleaf.errors import Unsafe
from looseleaf.files import atomic
from looseleaf.files.folders import OsErrorContext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILE = ".looseleaf/engine.db"
SCHEMA = "looseleaf_engine"
_LABEL = "The database of the engine"
# DBOS asks for milliseconds by a modifier that SQLite knows since this version.
_SUBSECOND_SQLITE = (3, 42)
_PRAGMAS = ("busy_timeout = 30000", "journal_mode = WAL", "synchronous = NORMAL")


def open_engine_database(database_url: str, root: str, *, file_mode: int) -> sa.Engine:
    """Open the database of the engine where the settings say."""
    if database_url:
        address = database_url.partition("://")[2]
        # The engine's own threads use two connections; the others are for jobs that run at once.
        return sa.create_engine(
            f"postgresql+psycopg://{address}", pool_pre_ping=True, pool_size=4, max_overflow=16
        )
    return _open_sqlite(os.path.join(os.path.realpath(root), FILE), file_mode)


def _open_sqlite(file: str, file_mode: int) -> sa.Engine:
    _create_file(file, file_mode)
    engine = sa.create_engine(sa.URL.create("sqlite", database=file))

    def prepare(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's own
        connection.isolation_level = "IMMEDIATE"
        for pragma in (*_PRAGMAS, "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")
        if sqlite3.sqlite_version_info < _SUBSECOND_SQLITE:
            connection.create_function("unixepoch", -1, _compute_unixepoch)

    event.listen(engine, "connect", prepare)
    return engine


def _compute_unixepoch(*modifiers: object) -> float | int:
    """Stand in for SQLite's function of this name, which older versions have without fractions."""
    now = time.time_ns() / 1_000_000_000
    return now if "subsec" in modifiers or "subsecond" in modifiers else int(now)


def _create_file(file: str, file_mode: int) -> None:
    """Create an empty file with the right permissions; SQLite would follow the umask."""
    with OsErrorContext(_LABEL):
        if os.path.islink(file):
            raise Unsafe(FILE, "it is a link")
        if os.path.lexists(file):
            return
        folder = os.open(os.path.dirname(file), atomic.FOLDER)
        try:
            atomic.create_durably(folder, os.path.basename(file), b"", mode=file_mode)
        except FileExistsError:
            return  # another process was faster
        finally:
            os.close(folder)
