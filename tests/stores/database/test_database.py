"""The database: made and migrated by itself, safely, at any point; errors say what they mean."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from looseleaf.access.audit import Event
from looseleaf.errors import InvalidSetting, Unavailable, Unsafe
from looseleaf.stores.database import database, tables
from looseleaf.stores.database.accounts import SqlAccounts
from looseleaf.stores.database.database import Database, upgrade_tables
from looseleaf.stores.database.settings_and_audit import HEAD, open_settings_and_audit
from looseleaf.stores.database.sqlite_file import FILE
from looseleaf.stores.database.tables import list_counted_tables
from tests.conftest import FULL, sample

STATE_ROWS = 2 + len(list_counted_tables())
OPEN = (
    "import sys; from looseleaf.stores.database.database import Database; Database(*sys.argv[1:])"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder that could be a workspace."""
    (tmp_path / ".looseleaf").mkdir()
    return tmp_path


def test_the_newest_migration_is_the_head() -> None:
    """The constant spares every start the import of Alembic."""
    assert ScriptDirectory(database._MIGRATIONS).get_current_head() == HEAD


def build_old_tables(home: Path, url: str) -> None:
    """Leave a database as the first migration made it."""
    opened = Database(url, str(home))
    with opened.writing() as connection:
        for table in reversed(tables.load_metadata().sorted_tables):
            table.drop(connection)
        connection.exec_driver_sql("DROP TABLE alembic_version")
        upgrade_tables(connection, "0001")
    opened.close()


def describe_database(opened: Database) -> tuple[dict[str, object], list[object]]:
    """Return the columns, indexes and keys of each table, and the rows of `state`."""
    with opened.reading() as connection:
        found = sa.inspect(connection)
        described: dict[str, object] = {}
        for name in sorted(found.get_table_names()):
            columns = {
                column["name"]: (str(column["type"]), column["nullable"], column["default"])
                for column in found.get_columns(name)
            }
            indexes = {
                index["name"]: (index["column_names"], index["unique"])
                for index in found.get_indexes(name)
            }
            keys = [
                (key["constrained_columns"], key["referred_table"], key["options"])
                for key in found.get_foreign_keys(name)
            ]
            primary = found.get_pk_constraint(name)["constrained_columns"]
            described[name] = columns, indexes, sorted(keys, key=str), primary
        rows = connection.execute(sa.select(tables.state).order_by(tables.state.c.name)).all()
        return described, [tuple(row) for row in rows]


def test_migrations_leave_the_tables_that_we_use(home: Path, database_url: str) -> None:
    """On both databases; a new database has the same tables and rows without migrations."""
    opened = Database(database_url, str(home))
    new = describe_database(opened)
    opened.close()
    build_old_tables(home, database_url)
    opened = Database(database_url, str(home))
    with opened.reading() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, tables.load_metadata()) == []
    assert describe_database(opened) == new
    opened.close()


def test_a_database_is_created_and_opened_without_alembic(home: Path) -> None:
    """It takes longer to import than to open the database."""
    script = f"{OPEN}; print('alembic' in sys.modules)"
    for _ in ("created", "opened again"):
        done = subprocess.run(
            [sys.executable, "-c", script, "", str(home)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "False\n"


def test_the_file_is_private_and_safe(home: Path) -> None:
    """Whatever the umask; with a log, foreign keys and full syncs."""
    before = os.umask(0)
    try:
        opened = Database("", str(home))
    finally:
        os.umask(before)
    with opened.writing() as connection:
        found = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "foreign_keys", "synchronous", "busy_timeout")
        ]
        files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in home.rglob("*.db*")}
    opened.close()
    assert found == ["wal", 1, 2, 30_000]
    assert files.keys() == {"looseleaf.db", "looseleaf.db-wal", "looseleaf.db-shm"}
    assert set(files.values()) == {0o600}


def test_a_transaction_is_all_or_nothing(home: Path, database_url: str) -> None:
    """Tables too."""
    opened = Database(database_url, str(home))

    def fail() -> None:
        with opened.writing() as connection:
            connection.execute(sa.text("CREATE TABLE half (a INTEGER)"))
            connection.execute(tables.settings.insert().values(name="a", setting="1"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with opened.reading() as connection:
        assert not sa.inspect(connection).has_table("half")
        assert connection.execute(sa.select(tables.settings)).all() == []
    opened.close()


@pytest.mark.parametrize("is_old", [False, True])
def test_many_processes_migrate_once(home: Path, database_url: str, is_old: bool) -> None:  # noqa: FBT001
    """They wait for each other, and all find the tables."""
    if is_old:
        build_old_tables(home, database_url)
    command = [sys.executable, "-c", OPEN, database_url, str(home)]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(6)]
    errors = [item.communicate()[1].decode() for item in running]
    assert [item.returncode for item in running] == [0] * 6, errors
    opened = Database(database_url, str(home))
    with opened.reading() as connection:
        assert len(connection.execute(sa.select(tables.state)).all()) == STATE_ROWS
    opened.close()


# Stops in the middle of a migration: after so many statements have been run.
KILLED = """
import os, signal, sys
import sqlalchemy as sa
from looseleaf.stores.database import database
left = int(sys.argv[3])
def count(*_):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
sa.event.listen(sa.Engine, "after_cursor_execute", count)
sa.event.listen(sa.Engine, "commit", count)
database.Database(*sys.argv[1:3])
"""


def test_a_migration_can_be_killed_at_any_statement(
    home: Path, database_url: str, seed: int
) -> None:
    """The next one finds the database as before, and completes it."""
    build_old_tables(home, database_url)
    killed = 0
    for statement in sample(list(range(60)), seed, every=12):
        done = subprocess.run(
            [sys.executable, "-c", KILLED, database_url, str(home), str(statement)],
            capture_output=True,
            check=False,
        )
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        killed += 1
    assert killed >= (3 if FULL else 1)
    opened = Database(database_url, str(home))
    with opened.reading() as connection:
        assert (
            compare_metadata(MigrationContext.configure(connection), tables.load_metadata()) == []
        )
        assert len(connection.execute(sa.select(tables.state)).all()) == STATE_ROWS
    opened.close()


def test_a_newer_database_is_left_alone(home: Path, database_url: str) -> None:
    """It says which program to use."""
    opened = Database(database_url, str(home))
    with opened.writing() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    opened.close()
    with pytest.raises(Unavailable, match="newer Looseleaf"):
        Database(database_url, str(home))


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("mysql://x/y", "begins with postgresql"),
        ("nonsense", "begins with postgresql"),
        ("postgresql://h:port/x", "not an address"),
    ],
)
def test_a_wrong_address_is_a_wrong_setting(url: str, why: str) -> None:
    """Before anything is tried."""
    with pytest.raises(InvalidSetting, match=why):
        Database(url)


def test_a_server_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    """Not an error of the driver."""
    with pytest.raises(Unavailable, match="The database is not available"):
        Database(f"postgresql://postgres@/postgres?host={tmp_path}")


def test_a_file_that_is_no_database_is_unavailable(home: Path) -> None:
    """And stays as it is."""
    (home / FILE).write_text("this is no database, but it is someone's file\n" * 50)
    with pytest.raises(Unavailable):
        Database("", str(home))
    assert (home / FILE).read_text().startswith("this is no database")


def test_a_folder_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    """Nothing is made outside a workspace."""
    with pytest.raises(Unavailable):
        Database("", str(tmp_path / "nowhere"))


def test_the_version_is_cheap_to_ask(home: Path) -> None:
    """Every request asks."""
    opened = Database("", str(home))
    begin = time.perf_counter()
    for _ in range(1000):
        opened.version()
    each = (time.perf_counter() - begin) / 1000
    opened.close()
    assert each < 0.001


@pytest.mark.parametrize("name", ["looseleaf.db", "looseleaf.db-wal", "looseleaf.db-shm", ""])
def test_the_database_is_not_followed_through_a_link(tmp_path: Path, name: str) -> None:
    """A link to another program's file would be written to, whoever put it there."""
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    (root / ".looseleaf").mkdir(parents=True)
    Database("", str(root)).close()
    victim = elsewhere / (name or "folder")
    elsewhere.mkdir()
    link = root / ".looseleaf" / name if name else root / ".looseleaf"
    if link.exists():
        link.rename(victim)
    else:
        victim.write_bytes(b"")
    before = [path.read_bytes() for path in elsewhere.rglob("*") if path.is_file()]
    link.symlink_to(victim)
    with pytest.raises(Unsafe):
        Database("", str(root))
    link.unlink()
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(Unsafe):
        Database("", str(root))
    assert not (tmp_path / "nowhere").exists()
    assert before == [path.read_bytes() for path in elsewhere.rglob("*") if path.is_file()]


def test_a_database_that_vanishes_is_not_made_anew(tmp_path: Path) -> None:
    """An empty one in its place would say that nobody is known here."""
    (tmp_path / ".looseleaf").mkdir()
    opened = Database("", str(tmp_path))
    opened.engine.dispose()
    for path in (tmp_path / ".looseleaf").iterdir():
        path.unlink()
    with pytest.raises(Unavailable), opened.reading():
        pass
    assert list((tmp_path / ".looseleaf").iterdir()) == []
    opened.close()


@pytest.mark.parametrize("reason", ["its file is gone", "another file is in its place"])
def test_a_file_that_is_gone_is_not_written_to(home: Path, reason: str) -> None:
    """SQLite would go on in the removed file, and what it acknowledged would be lost."""
    opened, entries = Database("", str(home)), open_settings_and_audit(str(home), clock=time.time)
    assert entries is not None
    folder = home / ".looseleaf"
    for file in folder.glob("looseleaf.db*"):
        file.rename(home / file.name)
        if "another" in reason:
            shutil.copy(home / file.name, file)
    calls: list[Callable[[], object]] = [
        opened.version,
        entries.version,
        entries.runtime_settings,
        lambda: entries.add_event(Event(action="test")),
        lambda: _enter(opened.reading),
        lambda: _enter(opened.writing),
    ]
    for call in calls:
        with pytest.raises(Unavailable, match=reason):
            call()
    for file in home.glob("looseleaf.db*"):
        file.rename(folder / file.name)
    for call in calls:
        call()
    opened.close()
    entries.close()


def _enter(context: Callable[[], AbstractContextManager[sa.Connection]]) -> None:
    with context() as connection:
        connection.execute(sa.select(sa.literal(1)))


def test_a_lost_database_is_not_made_anew(home: Path) -> None:
    """Ids of users, pipelines and jobs would be given again; the operator decides to do so."""
    accounts = SqlAccounts(Database("", str(home)), clock=time.time)
    accounts.start(1)
    accounts.add_event(Event(action="test"))
    accounts.database.close()
    for file in (home / ".looseleaf").glob("looseleaf.db*"):
        file.unlink()
    with pytest.raises(Unavailable, match="restore a backup"):
        Database("", str(home))
    assert not (home / ".looseleaf/looseleaf.db").exists()
    (home / ".looseleaf/audit-end").unlink()
    Database("", str(home)).close()
