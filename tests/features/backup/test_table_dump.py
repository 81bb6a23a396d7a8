"""A dump has every row, as of one moment, and the same rows give the same bytes everywhere."""

from __future__ import annotations

import json
import os
import tempfile
import threading
import tracemalloc
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from looseleaf.errors.features import InvalidBackup
from looseleaf.features.backup.database_copies import (
    DumpedTable,
    RowSummary,
    dump_database,
    fill_sqlite,
    parse_schema,
    read_lines,
)
from looseleaf.features.workflows import tables as workflow_tables
from looseleaf.stores.database import tables
from looseleaf.stores.database.database import Database, read_revision, upgrade_tables
from looseleaf.stores.database.settings_and_audit import HEAD
from tests.conftest import FULL
from tests.features.backup.dumps import change_schema, change_table, dump

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder that could be a workspace."""
    (tmp_path / "home/.looseleaf").mkdir(parents=True)
    return tmp_path / "home"


def new_home(folder: Path) -> Path:
    """Make another folder that could be a workspace."""
    (folder / ".looseleaf").mkdir(parents=True)
    return folder


def add_state(database: Database, rows: dict[str, int]) -> None:
    """Add rows whose keys are texts."""
    with database.writing() as connection:
        values = [{"name": name, "number": number, "text": name} for name, number in rows.items()]
        if values:
            connection.execute(tables.state.insert(), values)


@settings(max_examples=200 if FULL else 12)
@given(st.dictionaries(TEXTS.filter(lambda text: text != "restoring"), st.integers(0, 2**62)))
def test_any_rows_come_back(rows: dict[str, int]) -> None:
    """Whatever their texts are: line ends, quotes, and letters of all scripts."""
    known = {"version", "audit", *(table.name for table in tables.load_metadata().sorted_tables)}
    rows = {name: number for name, number in rows.items() if name not in known}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        home, copy = new_home(folder / "home"), new_home(folder / "copy")
        with closing(Database("", str(home))) as database:
            add_state(database, rows)
        files = dump("", home, folder / "dump")
        fill_sqlite(str(folder / "dump"), str(copy), file_mode=0o600)
        assert dump("", copy, folder / "again") == files
        assert files["state.jsonl"].count(b"\n") >= len(rows)


def test_the_order_is_that_of_bytes_in_every_database(
    home: Path, database_url: str, tmp_path: Path
) -> None:
    """Whatever the language of a PostgreSQL server sorts by."""
    names = ["a", "B", "Z", "_", "ä", "z", "é", "日本"]
    with closing(Database(database_url, str(home))) as database:
        add_state(database, dict.fromkeys(names, 1))
    lines = dump(database_url, home, tmp_path / "dump")["state.jsonl"].splitlines()
    found = [json.loads(line)[0] for line in lines]
    assert [name for name in found if name in names] == sorted(names)
    assert found == sorted(found)


def test_a_dump_is_one_state_of_the_database(home: Path, postgres_url: str, tmp_path: Path) -> None:
    """Changes of others that go on meanwhile are in it whole, or not at all."""
    stop = threading.Event()

    def add_pairs() -> None:
        number = 0
        with closing(Database(postgres_url, str(home))) as database:
            while not stop.is_set():
                number += 1
                name, zeros = f"n{number}", {"started_at": 0, "beat_at": 0, "beats": 0}
                with database.writing() as connection:
                    # The tables are dumped in another order than this one.
                    for insert in (
                        workflow_tables.workers.insert().values(id=name, host="", **zeros),
                        tables.settings.insert().values(name=name, setting="1"),
                        tables.state.insert().values(name=name, number=number, text=""),
                    ):
                        connection.execute(insert)

    thread = threading.Thread(target=add_pairs)
    Database(postgres_url, str(home)).close()
    thread.start()
    try:
        for number in range(5):
            files = dump(postgres_url, home, tmp_path / str(number))
            ids = [
                {json.loads(line)[0] for line in files[f"{name}.jsonl"].splitlines()}
                for name in ("settings", "state", "workers")
            ]
            assert ids[0] == ids[2]
            assert ids[0] == {
                name for name in ids[1] if name.startswith("n") and name[1:].isdigit()
            }
    finally:
        stop.set()
        thread.join()
    assert ids[0]


def test_a_dump_takes_the_same_memory_for_any_number_of_rows(
    home: Path, postgres_url: str, tmp_path: Path
) -> None:
    """Rows are streamed, when it is written and when it is filled in."""
    peaks = []
    for count in (300, 4_000):
        rows = [
            {"key": f"{n}", "page": "x" * 4_000, "content_hash": "", "number": n, "time": 0}
            for n in range(count)
        ]
        with (
            closing(Database(postgres_url, str(home))) as database,
            database.writing() as connection,
        ):
            connection.execute(workflow_tables.job_effects.delete())
            connection.execute(workflow_tables.job_effects.insert(), rows)
        del rows
        copy, files = new_home(tmp_path / f"copy-{count}"), tmp_path / f"dump-{count}"
        files.mkdir()
        folder = os.open(files, os.O_RDONLY)
        tracemalloc.start()
        dump_database(postgres_url, str(home), folder)
        fill_sqlite(str(files), str(copy), file_mode=0o600)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        os.close(folder)
        assert (files / "job_effects.jsonl").stat().st_size > count * 4_000
    assert peaks[1] < peaks[0] + 4_000_000, peaks


def test_a_dump_of_an_older_migration_is_brought_up_to_date(tmp_path: Path) -> None:
    """Its rows are compared first, and then migrated as those of an old database."""
    old, folder, home = new_home(tmp_path / "old"), tmp_path / "dump", new_home(tmp_path / "home")
    folder.mkdir()
    engine = sa.create_engine(f"sqlite:///{old}/old.db")
    with engine.begin() as connection:
        upgrade_tables(connection, "0002")
        metadata = sa.MetaData()
        metadata.reflect(connection)
        connection.execute(metadata.tables["settings"].insert().values(name="a", setting="1"))
        dumped_tables = []
        for table in metadata.sorted_tables:
            if table.name == "alembic_version":
                continue
            columns = tuple(table.columns.keys())
            summary = RowSummary()
            lines = b"".join(summary.watch(read_lines(connection, table, columns)))
            (folder / f"{table.name}.jsonl").write_bytes(lines)
            fields = {"name": table.name, "columns": columns, "rows": summary.rows}
            dumped_tables.append({**fields, "sha256": summary.hexdigest(), "last_id": 0})
    engine.dispose()
    (folder / "schema.json").write_text("{}")
    change_schema(folder, revision="0002", tables=dumped_tables)
    fill_sqlite(str(folder), str(home), file_mode=0o600)
    with closing(Database("", str(home))) as database, database.reading() as connection:
        assert read_revision(connection) == HEAD
        assert connection.execute(sa.select(tables.settings.c.name)).scalars().all() == ["a"]


GOOD = b'["a","1",null]\n'
DAMAGED = {
    "a text for a number": ("state", b'["a","x","t"]\n'),
    "a number for a text": ("settings", b'[1,"1",null]\n'),
    "nothing where something must be": ("settings", b'["a",null,null]\n'),
    "a cell too many": ("settings", b'["a","1",null,1]\n'),
    "a cell too few": ("settings", b'["a","1"]\n'),
    "the same key twice": ("settings", GOOD * 2),
    "an object": ("settings", b'{"name":"a"}\n'),
    "a list in a cell": ("settings", b'["a",[1],null]\n'),
    "endless depth": ("settings", b"[" * 100_000 + b"\n"),
    "no JSON": ("settings", b"\xff\n"),
    "a key that nothing has": ("grants", b'[7,1,"viewer",1,null]\n'),
    "lines in another form": ("settings", b'[ "a","1",null]\n'),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_row_is_refused(name: str, home: Path, tmp_path: Path) -> None:
    """Whatever its hashes say."""
    folder = tmp_path / "dump"
    dump("", home, folder)
    change_table(folder, *DAMAGED[name])
    copy = new_home(tmp_path / "copy")
    with pytest.raises(InvalidBackup, match=r"its table|a row of its table"):
        fill_sqlite(str(folder), str(copy), file_mode=0o600)
    change_table(folder, DAMAGED[name][0], b"")
    fill_sqlite(str(folder), str(copy), file_mode=0o600)  # nothing was left of it


@pytest.mark.parametrize("revision", ["9999", "0000", "head", "+1", "", "0007 "])
def test_a_migration_that_nobody_knows_is_refused(
    revision: str, home: Path, tmp_path: Path
) -> None:
    """A newer one too, with advice."""
    folder = tmp_path / "dump"
    dump("", home, folder)
    change_schema(folder, revision=revision)
    with pytest.raises(InvalidBackup, match=r"newer Looseleaf|description of its database"):
        fill_sqlite(str(folder), str(new_home(tmp_path / "copy")), file_mode=0o600)


@pytest.mark.parametrize("missing", ["schema.json", "users.jsonl"])
def test_a_missing_file_is_named(missing: str, home: Path, tmp_path: Path) -> None:
    """And so is a table that is not described."""
    folder = tmp_path / "dump"
    dump("", home, folder)
    (folder / missing).unlink()
    with pytest.raises(InvalidBackup, match=missing):
        fill_sqlite(str(folder), str(new_home(tmp_path / "copy")), file_mode=0o600)


def test_other_tables_are_refused(home: Path, tmp_path: Path) -> None:
    """One more, one less, or another column."""
    folder = tmp_path / "dump"
    listed = json.loads(dump("", home, folder)["schema.json"])["tables"]
    columns = [*listed[0]["columns"][:-1], "x"]
    for others in (
        listed[1:],
        [*listed, listed[0]],
        [*listed, {**listed[0], "name": "sqlite_master"}],
        [{**listed[0], "columns": columns}, *listed[1:]],
    ):
        change_schema(folder, tables=others)
        with pytest.raises(InvalidBackup, match="its tables are not those"):
            fill_sqlite(
                str(folder), str(new_home(tmp_path / f"copy-{id(others)}")), file_mode=0o600
            )


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", b'{"revision":"0007","tables":[{}]}', b'{"tables":5}', b"[" * 90_000],
)
def test_a_damaged_description_is_refused(content: bytes) -> None:
    """With one clear error."""
    with pytest.raises(InvalidBackup, match="description of its database"):
        parse_schema(content)


def test_a_table_is_described_by_what_is_needed_to_fill_it(home: Path, tmp_path: Path) -> None:
    """The ids that were given, those of deleted rows too."""
    with closing(Database("", str(home))) as database, database.writing() as connection:
        connection.exec_driver_sql("INSERT INTO sqlite_sequence VALUES ('jobs', 41)")
    dumped = parse_schema(dump("", home, tmp_path / "dump")["schema.json"])
    (jobs,) = (table for table in dumped.tables if table.name == "jobs")
    assert jobs == DumpedTable("jobs", jobs.columns, 0, jobs.sha256, 41)
