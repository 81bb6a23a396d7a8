"""A backup comes back with its database, to whichever kind of database, whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from looseleaf import Workspace, settings
from looseleaf.errors import InvalidArgument, InvalidSetting, Unavailable
from looseleaf.errors.features import DatabaseTaken
from looseleaf.features.backup.archive import open_archive
from looseleaf.features.backup.operations import write_backup
from looseleaf.features.backup.restoration import restore_workspace
from looseleaf.features.workflows.operations.jobs import list_jobs
from looseleaf.features.workflows.operations.pipelines import create_pipeline, delete_pipeline
from looseleaf.operations.users import create_user
from looseleaf.stores.disk.create import quote_toml
from looseleaf.values import replace
from tests.conftest import FULL, create_database
from tests.features.backup.archives import DESCRIPTION, SETTINGS, build, write
from tests.features.backup.copies import faults_of, fill, tree_of
from tests.features.backup.dumps import dump
from tests.features.workflows.jobs.house import WorkerHarness
from tests.features.workflows.jobs.test_crash import worker_process

KINDS = ("sqlite", "postgresql")
MANY = 10_000


@pytest.fixture
def addresses(postgres: str) -> Iterator[str]:
    """Yield addresses of empty PostgreSQL databases, as many as are asked for."""
    return iter(lambda: create_database(postgres), "")


@pytest.fixture(params=KINDS)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workspace]:
    """Yield a workspace on each kind of database, with something of everything in it."""
    root = tmp_path / "source"
    Workspace.create(root, agent="ada").close()
    if request.param == "postgresql":
        name_database(root, next(request.getfixturevalue("addresses")))
    workspace = Workspace.open(root)
    fill(workspace)
    for number in range(3):
        create_pipeline(workspace.context, f"p{number}", agent="ada")
    delete_pipeline(workspace.context, 4)  # the first id has files already, and is passed over
    yield workspace
    workspace.close()


@pytest.fixture
def archive(source: Workspace, tmp_path: Path) -> str:
    """Return a backup of the workspace."""
    return write_backup(source.settings, str(tmp_path / "backups"), 1.0).path


@pytest.fixture
def postgres_archive(addresses: Iterator[str], tmp_path: Path) -> str:
    """Return a backup of a small workspace on PostgreSQL."""
    root = tmp_path / "source"
    Workspace.create(root, agent="ada").close()
    name_database(root, next(addresses))
    workspace = Workspace.open(root)
    create_user(workspace.context, "eve")
    workspace.close()
    return write_backup(settings.load(str(root)), str(tmp_path / "backups"), 1.0).path


def find_faults(root: Path) -> list[str]:
    """Return what the doctor finds in a workspace."""
    with closing(Workspace.open(root)) as workspace:
        return faults_of(workspace)


def name_database(root: Path, url: str) -> None:
    """Make a workspace use this database."""
    path = root / "looseleaf.toml"
    path.write_text(f"database_url = {quote_toml(url)}\n{path.read_text()}")


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_comes_back_to_every_kind_of_database(
    request: pytest.FixtureRequest,
    source: Workspace,
    archive: str,
    kind: str,
    tmp_path: Path,
) -> None:
    """And all files; the doctor finds nothing, and no id is given twice."""
    before = dump(source.settings.database_url, source.root, tmp_path / "before")
    choice = "sqlite" if kind == "sqlite" else next(request.getfixturevalue("addresses"))
    result = restore_workspace(archive, str(tmp_path / "new"), database=choice)
    assert result.database == kind
    restored = Workspace.open(tmp_path / "new")
    request.addfinalizer(restored.close)
    assert restored.settings.database_url == ("" if kind == "sqlite" else choice)
    assert dump(restored.settings.database_url, restored.root, tmp_path / "after") == before
    files, expected = tree_of(restored.root), tree_of(source.root)
    del files["looseleaf.toml"], expected["looseleaf.toml"]
    assert files == expected
    assert sorted(os.listdir(tmp_path / "new")) == sorted(os.listdir(source.root))
    has_file = (tmp_path / "new/.looseleaf/looseleaf.db").exists()
    assert has_file == (kind == "sqlite")
    assert restored.accounts().audit.verify() == source.accounts().audit.verify()
    assert faults_of(restored) == []
    assert create_pipeline(restored.context, "next", agent="ada").id == 5
    assert create_user(restored.context, "zoe").id == 3


def test_a_backup_of_postgresql_has_its_tables(postgres_archive: str) -> None:
    """A file for each, beside the files of the workspace, and no file of SQLite."""
    with open_archive(postgres_archive) as reader:
        paths: list[str] = []
        content = reader.read_all(lambda header, _chunks: paths.append(header.path.decode()))
    assert content.description.database == "postgresql"
    assert {"database/schema.json", "database/users.jsonl", "looseleaf.toml"} <= set(paths)
    assert not [path for path in paths if ".db" in path]


def test_progress_is_shown_in_bytes_and_then_in_rows(postgres_archive: str, tmp_path: Path) -> None:
    """Up to the end of both."""
    steps: list[tuple[str, int, int]] = []
    restore_workspace(
        postgres_archive,
        str(tmp_path / "new"),
        database="sqlite",
        show_progress=lambda done, total: steps.append(("bytes", done, total)),
        show_rows=lambda done, total: steps.append(("rows", done, total)),
    )
    names = [name for name, _, _ in steps]
    assert names == sorted(names)
    assert steps[-1][0] == "rows"
    assert steps[-1][1] == steps[-1][2]
    sizes = [done for name, done, _ in steps if name == "bytes"]
    assert sizes == sorted(sizes)


def test_the_address_of_the_environment_is_used(
    postgres_archive: str,
    addresses: Iterator[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The settings file no longer names the database that the backup is of."""
    url = next(addresses)
    monkeypatch.setitem(os.environ, "LOOSELEAF_DATABASE_URL", url)
    assert restore_workspace(postgres_archive, str(tmp_path / "new")).database == "postgresql"
    assert settings.load(str(tmp_path / "new"), environ={}).database_url == url


def test_without_a_place_for_its_database_a_backup_is_refused(
    postgres_archive: str, tmp_path: Path
) -> None:
    """The old database, which the backup names, is never touched."""
    with pytest.raises(InvalidArgument, match="address of an empty database, or sqlite"):
        restore_workspace(postgres_archive, str(tmp_path / "new"))
    assert sorted(os.listdir(tmp_path)) == ["backups", "source"]


def test_a_database_that_is_not_empty_is_refused(
    postgres_archive: str, addresses: Iterator[str], tmp_path: Path
) -> None:
    """Whoever created its table."""
    url = next(addresses)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE mine (a int)")
    with pytest.raises(DatabaseTaken, match="not empty: it has the table mine"):
        restore_workspace(postgres_archive, str(tmp_path / "new"), database=url)
    live = settings.load(str(tmp_path / "source")).database_url
    with pytest.raises(DatabaseTaken):
        restore_workspace(postgres_archive, str(tmp_path / "new"), database=live)
    assert sorted(os.listdir(tmp_path)) == ["backups", "source"]


@pytest.mark.parametrize("url", ["mysql://x/y", "postgresql://127.0.0.1:1/nothing", "SQLite"])
def test_a_database_that_is_none_is_refused(
    postgres_archive: str, url: str, tmp_path: Path
) -> None:
    """With one clear error, before the archive is read."""
    with pytest.raises((InvalidSetting, Unavailable)):
        restore_workspace(postgres_archive, str(tmp_path / "new"), database=url)
    assert sorted(os.listdir(tmp_path)) == ["backups", "source"]


def test_a_backup_without_its_tables_comes_back_without_a_database(tmp_path: Path) -> None:
    """As older versions made them."""
    raw = build(SETTINGS, description={**DESCRIPTION, "database": "postgresql"})
    result = restore_workspace(write(tmp_path, raw), str(tmp_path / "new"), database="sqlite")
    assert result.database == "none"


def test_two_databases_are_refused(addresses: Iterator[str], tmp_path: Path) -> None:
    """No backup has them, and it would be unclear which one counts."""
    raw = build(SETTINGS, ("database/schema.json", b"{}"), (".looseleaf/looseleaf.db", b""))
    for choice in ("sqlite", next(addresses)):
        with pytest.raises(ValueError, match=r"two databases|description of its database"):
            restore_workspace(write(tmp_path, raw), str(tmp_path / "new"), database=choice)
    assert os.listdir(tmp_path) == ["hostile.tar"]


# Stops a restore when so many statements, commits and changes of names are done.
STOPPED = """
import os, signal, sys
import sqlalchemy as sa
from looseleaf.features.backup.restoration import restore_workspace
from looseleaf.features.backup import database_copies as restored_database
left = first = int(sys.argv[4])
def count(name):
    global left
    left -= 1
    if left < 0:
        if sys.argv[5] == "fail":
            left = 10**9
            if name.startswith("os."):
                raise OSError(5, "Input/output error")
            raise sa.exc.OperationalError("", None, Exception("the server is gone"))
        print(name, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
sa.event.listen(sa.Engine, "before_cursor_execute", lambda *_: count("statement"))
sa.event.listen(sa.Engine, "commit", lambda *_: count("commit"))
sys.addaudithook(lambda event, _: count(event) if event in ("os.rename", "os.rmdir") else None)
try:
    restore_workspace(*sys.argv[1:3], database=sys.argv[3])
except Exception as error:
    print(type(error).__name__)
else:
    print("done", first - left)
"""


def run_stopped(archive: str, folder: Path, url: str, count: int, how: str) -> str:
    """Run a restore that is stopped; return the call before which it was, or how it ended."""
    command = [sys.executable, "-c", STOPPED, archive, str(folder), url, str(count), how]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode in (0, -9), ended.stderr
    return ended.stdout.strip()


def count_calls(archive: str, folder: Path, url: str) -> int:
    """Return how many calls a restore makes before which it can be stopped."""
    ending, _, count = run_stopped(archive, folder, create_database(url), MANY, "kill").partition(
        " "
    )
    assert ending == "done"
    return int(count)


def test_a_restore_can_be_killed_at_any_call(
    postgres_archive: str, postgres: str, tmp_path: Path
) -> None:
    """The same restore again leads to where it would have led; another one is refused."""
    total = count_calls(postgres_archive, tmp_path / "whole", postgres)
    source = settings.load(str(tmp_path / "source"))
    expected = dump(source.database_url, source.root, tmp_path / "expected")
    names = set()
    steps = range(total) if FULL else sorted({total // 2, *range(total - 5, total)})
    for count in steps:
        folder, url = tmp_path / f"new-{count}", create_database(postgres)
        name = run_stopped(postgres_archive, folder, url, count, "kill")
        names.add(name)
        if folder.exists():  # whole, and a restore to it is refused
            assert find_faults(folder) == []
        else:
            assert run_stopped(postgres_archive, folder, url, MANY, "kill").startswith("done")
        assert dump(url, folder, tmp_path / f"dump-{count}") == expected, (count, name)
    other = run_stopped(postgres_archive, tmp_path / "other", url, MANY, "kill")
    assert other == "DatabaseTaken"
    assert {"statement", "commit", "os.rename"} <= names


def test_a_restore_that_fails_leaves_nothing(
    postgres_archive: str, postgres: str, tmp_path: Path
) -> None:
    """Neither a folder nor a table, whichever call fails; the mark alone may stay at the end."""
    total = count_calls(postgres_archive, tmp_path / "whole", postgres)
    errors = set()
    for count in range(total) if FULL else sorted({total // 2, *range(total - 6, total)}):
        folder, url = tmp_path / f"new-{count}", create_database(postgres)
        ending = run_stopped(postgres_archive, folder, url, count, "fail")
        if ending.startswith("done"):
            assert find_faults(folder) == []
            continue
        errors.add(ending)
        assert not folder.exists(), (count, ending)
        with psycopg.connect(url) as connection:
            query = b"SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
            row = connection.execute(query).fetchone()
        assert row == (0,), (count, ending)
    assert errors


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("new_kind", KINDS)
def test_jobs_in_flight_are_continued_from_their_last_step(
    kind: str, new_kind: str, addresses: Iterator[str], tmp_path: Path
) -> None:
    """On whichever database; what a step has done already is not done again."""
    url = "" if kind == "sqlite" else next(addresses)
    harness = WorkerHarness(tmp_path / "source", url)
    marks = [str(tmp_path / f"died-{number}") for number in range(2)]
    dying = {"die": "end", "mark": marks[0]}
    job = harness.add(("say", {"text": "x"}), ("note", dying), ("note", {}))
    waiting = harness.add(("say", {"text": "y"}), ("hold-gate", {}), ("note", {}))
    with worker_process(harness) as process:
        process.wait()  # it has killed itself after the page was written
    with_url = replace(harness.workspace.settings, database_url=url)
    archive = write_backup(with_url, str(tmp_path / "backups"), 1.0).path
    harness.close()
    choice = "sqlite" if new_kind == "sqlite" else next(addresses)
    restore_workspace(archive, str(tmp_path / "new"), database=choice)
    restored = WorkerHarness(tmp_path / "new", "" if new_kind == "sqlite" else choice)
    assert {item.status for item in list_jobs(restored.workspace.context).jobs} & {"processing"}
    with worker_process(restored):
        assert restored.wait_for_end(job.id).status == "completed"
        restored.wait(waiting.id, lambda item: item.status == "waiting")
    assert restored.store.jobs.find(job.id).steps[0].attempts == 1
    assert sorted(restored.notes) == [f"{job.id}: x (1)", f"{job.id}: x (2)"]
    restored.close()
