"""The database: SQLite beside the pages, or PostgreSQL; opened, migrated, in transactions."""

from __future__ import annotations

import math
import os
import sqlite3
import threading
import time
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy import event

from looseleaf import atomic
from looseleaf.errors import DiskFull, ExtraMissing, InvalidSetting, Unavailable
from looseleaf.extras import POSTGRES, require_extra
from looseleaf.folders import Reporting
from looseleaf.stores import tables
from looseleaf.stores.audit_anchor import AuditAnchor
from looseleaf.stores.ledger import BUSY_SECONDS, HEAD, WHAT, VersionWatch
from looseleaf.stores.open_database import FILE
from looseleaf.stores.sqlite_file import address_of, check_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_NEWEST_ENTRY = "looseleaf.audit"  # of a connection: number and hash of the entry it has added
_POLL_SECONDS = 0.5  # how late a change made by another server on PostgreSQL may be seen
_MIGRATION_LOCK = 0x6C6F6F73656C6561  # "looselea", for PostgreSQL's advisory locks
_MIGRATIONS = os.path.join(os.path.dirname(__file__), "migrations")


class Database:
    """One database, its tables up to date."""

    def __init__(self, url: str, root: str = "", *, mode: int = 0o600) -> None:
        self._file = "" if url else os.path.join(os.path.realpath(root), FILE)
        if self._file:
            _make_file(self._file, mode)
        self.engine = _sqlite(self._file) if self._file else _postgres(url)
        self._watch = VersionWatch(self._file) if self._file else None
        self.anchor = AuditAnchor(root)
        self._seen = (-math.inf, 0)
        self._lock = threading.Lock()
        try:
            with _Explaining():
                self._migrate()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the database."""
        self.engine.dispose()
        if self._watch is not None:
            self._watch.close()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Look at one state of the database."""
        with _Explaining(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self, *, relaxed: bool = False) -> Iterator[sa.Connection]:
        """Change the database, all or nothing; relaxed, a power cut may undo the last changes."""
        relaxed = relaxed and not self.anchor.is_due()
        options = {"writing": True, "relaxed": relaxed}
        with _Explaining(), self.engine.connect().execution_options(**options) as connection:
            connection.info.pop(_NEWEST_ENTRY, None)  # of one that was rolled back
            with connection.begin():
                if relaxed and not self._file:
                    connection.exec_driver_sql("SET LOCAL synchronous_commit TO off")
                yield connection
            self._seen = (-math.inf, self._seen[1])
            newest = connection.info.pop(_NEWEST_ENTRY, None)
            if newest is not None and not relaxed:
                number, digest = newest
                self.anchor.note(number, digest, self._find_hash)

    def _find_hash(self, number: int) -> str:
        query = sa.select(tables.audit.c.hash).where(tables.audit.c.number == number)
        with self.engine.connect() as connection:
            return connection.execute(query).scalar() or ""

    def note_audit(self, connection: sa.Connection, entry: tuple[int, str]) -> None:
        """Have the newest entry of the audit noted outside, once its transaction is durable."""
        connection.info[_NEWEST_ENTRY] = entry

    def version(self) -> int:
        """Give the number of changes of accounts so far, as cheaply as can be."""
        with self._lock, _Explaining():
            if self._watch is not None:
                return self._watch.version()
            polled, number = self._seen
            now = time.monotonic()
            if now - polled > _POLL_SECONDS:
                with self.engine.connect() as connection:
                    number = connection.execute(_VERSION).scalar_one()
                self._seen = (now, number)
            return number

    def _migrate(self) -> None:
        with self.engine.connect() as connection:
            if _revision(connection) == HEAD:
                return
        # One transaction: others wait for it, and whoever is killed leaves what was there before.
        with self.writing() as connection:
            if not self._file:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
            found = _revision(connection)
            if found == HEAD:
                return
            if found is not None and found > HEAD:
                raise Unavailable(WHAT, "a newer Looseleaf has made it; use that one")
            _upgrade(connection)


_VERSION = sa.select(tables.state.c.number).where(tables.state.c.name == "version")


class _Explaining:
    """Turn what a database says inside a `with` block into one of our errors."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, sa.exc.OperationalError | sqlite3.OperationalError):
            said = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
            if "is full" in said:
                raise DiskFull(WHAT) from error
            raise Unavailable(WHAT, said) from error
        broken = isinstance(getattr(error, "orig", error), sqlite3.DatabaseError)
        if isinstance(error, sa.exc.InterfaceError | sa.exc.TimeoutError) or (
            broken and not isinstance(error, sa.exc.IntegrityError | sa.exc.ProgrammingError)
        ):
            raise Unavailable(WHAT, str(error).partition("\n")[0]) from error


def _make_file(file: str, mode: int) -> None:
    """Make an empty database with the right permissions; SQLite's own would be the umask's."""
    check_plain(file, WHAT)
    if os.path.lexists(file):
        return
    with Reporting(WHAT):
        folder = os.open(os.path.dirname(file), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            atomic.create_durably(folder, os.path.basename(file), b"", mode=mode)
        except FileExistsError:
            return  # another process was faster
        finally:
            os.close(folder)


def _sqlite(file: str) -> sa.Engine:
    address, _, mode = address_of(file).partition("?mode=")
    query = {"mode": mode, "uri": "true"}
    engine = sa.create_engine(sa.URL.create("sqlite", database=address, query=query))

    def check(*_connecting: object) -> None:
        check_plain(file, WHAT)

    def prepare(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's own
        connection.isolation_level = None  # the driver would begin too late, and not for tables
        for pragma in (
            f"busy_timeout = {BUSY_SECONDS * 1000}",
            "journal_mode = WAL",
            "foreign_keys = ON",
        ):
            connection.execute(f"PRAGMA {pragma}")

    def begin(connection: sa.Connection) -> None:
        options = connection.get_execution_options()
        if options.get("writing"):
            durable = "NORMAL" if options.get("relaxed") else "FULL"
            connection.exec_driver_sql(f"PRAGMA synchronous = {durable}")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("writing") else "BEGIN")

    event.listen(engine, "do_connect", check)
    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", begin)
    return engine


def _postgres(url: str) -> sa.Engine:
    scheme, colon, rest = url.partition("://")
    if scheme not in ("postgresql", "postgres", "postgresql+psycopg") or not colon:
        raise InvalidSetting("database_url", "it begins with postgresql://")
    try:
        with require_extra(POSTGRES, "PostgreSQL"):
            # A server that went away and came back is noticed before a transaction, not in it.
            return sa.create_engine(f"postgresql+psycopg://{rest}", pool_pre_ping=True)
    except ExtraMissing:
        raise  # it is a ValueError, too
    except (sa.exc.ArgumentError, ValueError) as error:
        raise InvalidSetting("database_url", "it is not an address of a database") from error


def _revision(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.exec_driver_sql(
        "SELECT version_num FROM alembic_version"
    ).scalar()
    return found


def _upgrade(connection: sa.Connection) -> None:
    from alembic import command, config

    chosen = config.Config(attributes={"connection": connection})
    chosen.set_main_option("script_location", _MIGRATIONS.replace("%", "%%"))
    command.upgrade(chosen, "head")
