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

from looseleaf.errors import DiskFull, ExtraMissing, InvalidSetting, Unavailable
from looseleaf.extras import POSTGRES, require_extra
from looseleaf.files import atomic
from looseleaf.files.folders import GROUP, PRIVATE, OsErrorContext
from looseleaf.stores.database import tables
from looseleaf.stores.database.audit_chain import AuditAnchor
from looseleaf.stores.database.settings_and_audit import BUSY_SECONDS, HEAD, SUBJECT, VersionWatch
from looseleaf.stores.database.sqlite_file import FILE, OpenFile, address_of, check_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from looseleaf.settings import Settings


# The newest migration of a database, and upgrading the database to a newer one.


_MIGRATIONS = os.path.join(os.path.dirname(__file__), "migrations")
_MARK_TABLE = """CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
)"""  # as Alembic creates it


def read_revision(connection: sa.Connection) -> str | None:
    """Return the newest migration of a database, or None for a database without our tables."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.exec_driver_sql(
        "SELECT version_num FROM alembic_version"
    ).scalar()
    return revision


def is_revision(text: str) -> bool:
    """Return whether a text is the number of a migration that exists."""
    with os.scandir(os.path.join(_MIGRATIONS, "versions")) as entries:
        return text in {entry.name.partition("_")[0] for entry in entries if entry.is_file()}


def upgrade_tables(connection: sa.Connection, revision: str) -> None:
    """Run the missing migrations up to a revision, inside the transaction of a connection.

    A new database gets the newest tables at once: Alembic takes longer to import, and the
    statements of its migrations to run, than all else that a server does before its first answer.
    """
    if revision == HEAD and read_revision(connection) is None:
        connection.exec_driver_sql(_MARK_TABLE)
        connection.execute(sa.text("INSERT INTO alembic_version VALUES (:head)"), {"head": HEAD})
        tables.create_tables(connection)
        return
    from alembic import command, config

    configuration = config.Config(attributes={"connection": connection})
    configuration.set_main_option("script_location", _MIGRATIONS.replace("%", "%%"))
    command.upgrade(configuration, revision)


_DURABLE = "durable"  # the way in which a connection commits now
_NEWEST_ENTRY = "looseleaf.audit"  # of a connection: number and hash of the entry it has added
_POLL_SECONDS = 0.5  # how late a change made by another server on PostgreSQL may be seen
_SNAPSHOT = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
_MIGRATION_LOCK = 0x6C6F6F73656C6561  # "looselea", for PostgreSQL's advisory locks


class Database:
    """One database, its tables up to date."""

    def __init__(self, url: str, root: str = "", *, mode: int = 0o600) -> None:
        self._file = "" if url else os.path.join(os.path.realpath(root), FILE)
        self.anchor = AuditAnchor(root)
        if self._file and not os.path.lexists(self._file):
            self._refuse_second()
        self.engine = open_engine(url, self._file, mode)
        self._watch = VersionWatch(self._file) if self._file else None
        self._last_poll = (-math.inf, 0)
        self._lock = threading.Lock()
        self.write_count = 0  # changes by this process
        try:
            with DatabaseErrorContext():
                self._migrate()
        except BaseException:
            self.close()
            raise

    def _refuse_second(self) -> None:
        """Raise `Unavailable` if there was a database: a new one would give its ids again."""
        if self.anchor.read()[0]:
            reason = (
                "its file is gone (or database_url was set before); put it back, or restore a "
                "backup. To begin anew without users, tokens, conversations, pipelines and jobs, "
                "remove .looseleaf/audit-end"
            )
            raise Unavailable(SUBJECT, reason)

    def close(self) -> None:
        """Close the database."""
        self.engine.dispose()
        if self._watch is not None:
            self._watch.close()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Read one state of the database."""
        with DatabaseErrorContext(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        """Read one state of the database, for as long as it takes; no writer waits meanwhile."""
        options = {} if self._file else _SNAPSHOT
        with (
            DatabaseErrorContext(),
            self.engine.connect().execution_options(**options) as connection,
        ):
            yield connection

    @contextmanager
    def writing(self, *, is_relaxed: bool = False) -> Iterator[sa.Connection]:
        """Change the database, all or nothing; a power cut may undo the last relaxed changes."""
        is_relaxed = is_relaxed and not self.anchor.is_due()
        options = {"writing": True, "is_relaxed": is_relaxed}
        with (
            DatabaseErrorContext(),
            self.engine.connect().execution_options(**options) as connection,
        ):
            connection.info.pop(_NEWEST_ENTRY, None)  # left by a transaction that was rolled back
            try:
                with connection.begin():
                    if is_relaxed and not self._file:
                        connection.exec_driver_sql("SET LOCAL synchronous_commit TO off")
                    yield connection
            finally:
                self.write_count += 1  # after the commit, and if it is not known to have failed
            self._last_poll = (-math.inf, self._last_poll[1])
            newest = connection.info.pop(_NEWEST_ENTRY, None)
            if newest is not None and not is_relaxed:
                number, digest = newest
                self.anchor.note(number, digest, self._find_hash, self._find_removed)

    def _find_hash(self, number: int) -> str:
        query = sa.select(tables.audit.c.hash).where(tables.audit.c.number == number)
        with self.engine.connect() as connection:
            return connection.execute(query).scalar() or ""

    def _find_removed(self) -> tuple[int, str]:
        columns = tables.audit.c.number, tables.audit.c.previous
        with self.engine.connect() as connection:
            first = connection.execute(sa.select(*columns).order_by(columns[0]).limit(1)).first()
        return (first.number - 1, first.previous) if first else (0, "")

    def note_audit(self, connection: sa.Connection, entry: tuple[int, str]) -> None:
        """Have the newest entry of the audit noted outside, once its transaction is durable."""
        connection.info[_NEWEST_ENTRY] = entry

    def version(self) -> int:
        """Return the number of changes of accounts so far, at little cost."""
        with self._lock, DatabaseErrorContext():
            if self._watch is not None:
                return self._watch.version()
            poll_time, number = self._last_poll
            now = time.monotonic()
            if now - poll_time > _POLL_SECONDS:
                with self.engine.connect() as connection:
                    number = connection.execute(_VERSION).scalar_one()
                self._last_poll = (now, number)
            return number

    def _migrate(self) -> None:
        with self.engine.connect() as connection:
            if read_revision(connection) == HEAD:
                return
        # One transaction: other processes wait, and a killed one leaves the database as it was.
        with self.writing() as connection:
            if not self._file:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
            revision = read_revision(connection)
            if revision == HEAD:
                return
            if revision is not None and revision > HEAD:
                raise Unavailable(SUBJECT, "a newer Looseleaf has made it; use that one")
            upgrade_tables(connection, HEAD)


def open_database(settings: Settings) -> Database:
    """Open the database of a workspace by its settings."""
    file_mode = (GROUP if settings.group_writable else PRIVATE)[0]
    return Database(settings.database_url, settings.root, mode=file_mode)


_VERSION = sa.select(tables.state.c.number).where(tables.state.c.name == "version")


class DatabaseErrorContext:
    """Turn a database's errors inside a `with` block into our own."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, sa.exc.OperationalError | sqlite3.OperationalError):
            message = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
            if "is full" in message:
                raise DiskFull(SUBJECT) from error
            raise Unavailable(SUBJECT, message) from error
        is_database_error = isinstance(getattr(error, "orig", error), sqlite3.DatabaseError)
        if isinstance(error, sa.exc.InterfaceError | sa.exc.TimeoutError) or (
            is_database_error
            and not isinstance(error, sa.exc.IntegrityError | sa.exc.ProgrammingError)
        ):
            raise Unavailable(SUBJECT, str(error).partition("\n")[0]) from error


def open_engine(url: str, file: str, mode: int) -> sa.Engine:
    """Open PostgreSQL by its address, or an SQLite file, which is created if it is missing."""
    if url:
        return _open_postgres(url)
    _create_file(file, mode)
    return _open_sqlite(file)


def _create_file(file: str, mode: int) -> None:
    """Create an empty database with the right permissions; SQLite would follow the umask."""
    check_plain(file, SUBJECT)
    if os.path.lexists(file):
        return
    with OsErrorContext(SUBJECT):
        folder = os.open(os.path.dirname(file), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            atomic.create_durably(folder, os.path.basename(file), b"", mode=mode)
        except FileExistsError:
            return  # another process was faster
        finally:
            os.close(folder)


def _open_sqlite(file: str) -> sa.Engine:
    address, _, mode = address_of(file).partition("?mode=")
    query = {"mode": mode, "uri": "true"}
    open_file = OpenFile(file, SUBJECT)
    engine = sa.create_engine(sa.URL.create("sqlite", database=address, query=query))

    def check(*_arguments: object) -> None:
        check_plain(file, SUBJECT)

    def prepare(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's own
        connection.isolation_level = None  # the driver would begin too late, and never for DDL
        for pragma in (
            f"busy_timeout = {BUSY_SECONDS * 1000}",
            "journal_mode = WAL",
            "foreign_keys = ON",
        ):
            connection.execute(f"PRAGMA {pragma}")

    def begin(connection: sa.Connection) -> None:
        open_file.require()
        options = connection.get_execution_options()
        if options.get("writing"):
            durable = "NORMAL" if options.get("is_relaxed") else "FULL"
            if connection.info.get(_DURABLE) != durable:
                connection.exec_driver_sql(f"PRAGMA synchronous = {durable}")
                connection.info[_DURABLE] = durable
        # By the driver: through SQLAlchemy this statement takes thirty times as long.
        driver: Any = connection.connection.driver_connection
        driver.execute("BEGIN IMMEDIATE" if options.get("writing") else "BEGIN")

    event.listen(engine, "do_connect", check)
    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", begin)
    return engine


def _open_postgres(url: str) -> sa.Engine:
    scheme, colon, rest = url.partition("://")
    if scheme not in ("postgresql", "postgres", "postgresql+psycopg") or not colon:
        raise InvalidSetting("database_url", "it begins with postgresql://")
    try:
        with require_extra(POSTGRES, "PostgreSQL"):
            # A lost connection to the server is noticed before a transaction, not in it.
            return sa.create_engine(f"postgresql+psycopg://{rest}", pool_pre_ping=True)
    except ExtraMissing:
        raise  # it is a ValueError, too
    except (sa.exc.ArgumentError, ValueError) as error:
        raise InvalidSetting("database_url", "it is not an address of a database") from error
