"""Copies of a database: dumped into files as of one moment, and filled from them again."""

from __future__ import annotations

import json
import os
from contextlib import closing, suppress
from functools import partial
from hashlib import sha256
from typing import NamedTuple

import sqlalchemy as sa

from looseleaf.errors import LooseleafError
from looseleaf.errors.features import DatabaseTaken, InvalidBackup
from looseleaf.features.backup.archive import OutputFile
from looseleaf.stores.database import tables
from looseleaf.stores.database.database import (
    Database,
    DatabaseErrorContext,
    is_revision,
    open_engine,
    upgrade_tables,
)
from looseleaf.stores.database.settings_and_audit import HEAD
from looseleaf.stores.database.sqlite_file import FILE
from looseleaf.values import as_dict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, BinaryIO

    WriteFile = Callable[[str, Iterator[bytes]], None]

    OpenFile = Callable[[str], BinaryIO]

    ShowRows = Callable[[int, int], None]


# The tables of a database as files that can be read without a database: one line for each row.
# `schema.json` names the newest migration, and of each table its columns, the number of its
# rows, the hash of its file and the last id that was given. `<table>.jsonl` has a JSON array
# for each row, in the order of the primary key. The same rows give the same bytes in every
# database.


SCHEMA_FILE = "schema.json"
MOST_SCHEMA_BYTES = 1 << 20
_ROWS_AT_ONCE = 100  # a row may have a megabyte
_POSTGRESQL = "postgresql"
RESTORE_MARK = "restoring"  # a row of `state`, which belongs to no dump


@value
class DumpedTable:
    """The description of one table in a dump.

    Fields:
        name: The name of the table.
        columns: The names of its columns, in the order of the cells of a row.
        rows: The number of its rows.
        sha256: The hash of its file.
        last_id: The last id that the database has given to a row, or 0 if it gives none.
    """

    name: str
    columns: tuple[str, ...]
    rows: int
    sha256: str
    last_id: int


class Dump(NamedTuple):
    """The content of `schema.json`: the newest migration, and the tables in order to fill them."""

    revision: str
    tables: tuple[DumpedTable, ...]


def dump_tables(connection: sa.Connection, revision: str, write_file: WriteFile) -> Dump:
    """Write all our tables as one state of the database has them, a few rows at a time."""
    dumped_tables = []
    for table in tables.load_metadata().sorted_tables:
        columns = tuple(column.name for column in table.columns)
        summary = RowSummary()
        write_file(f"{table.name}.jsonl", summary.watch(read_lines(connection, table, columns)))
        last_id = _read_last_id(connection, table)
        dumped_tables.append(
            DumpedTable(table.name, columns, summary.rows, summary.hexdigest(), last_id)
        )
    dump = Dump(revision, tuple(dumped_tables))
    write_file(SCHEMA_FILE, iter((_encode_schema(dump),)))
    return dump


class RowSummary:
    """The number and the hash of lines that pass by."""

    def __init__(self) -> None:
        self.rows = 0
        self._digest = sha256()

    def watch(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Pass the lines on, and count them."""
        for line in lines:
            self.rows += 1
            self._digest.update(line)
            yield line

    def hexdigest(self) -> str:
        """Return the hash of all lines so far."""
        return self._digest.hexdigest()


def read_lines(
    connection: sa.Connection, table: sa.Table, columns: Iterable[str]
) -> Iterator[bytes]:
    """Read the rows of a table as lines, in the order of the bytes of the primary key."""
    is_postgresql = connection.dialect.name == _POSTGRESQL
    order = [
        sa.collate(key, "C") if is_postgresql and isinstance(key.type, sa.String) else key
        for key in table.primary_key
    ]
    query = sa.select(*(table.c[name] for name in columns)).order_by(*order)
    if table.name == tables.state.name:
        query = query.where(table.c.name != RESTORE_MARK)
    result = connection.execute(query, execution_options={"yield_per": _ROWS_AT_ONCE})
    for row in result:
        yield json.dumps(list(row), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def parse_schema(content: bytes) -> Dump:
    """Parse the description of a dump, or raise `InvalidBackup`."""
    try:
        document: Any = json.loads(content)
        dumped_tables = tuple(_parse_table(fields) for fields in document["tables"])
        return Dump(str(document["revision"]), dumped_tables)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InvalidBackup("the description of its database is damaged") from None


def find_sequence(connection: sa.Connection, table: sa.Table) -> str:
    """Return the name of the sequence that PostgreSQL takes the ids of a table from, or ""."""
    (key, *other_keys) = list(table.primary_key)
    if other_keys or connection.dialect.name != _POSTGRESQL:
        return ""
    query = sa.select(sa.func.pg_get_serial_sequence(table.name, key.name))
    return connection.execute(query).scalar() or ""


def _read_last_id(connection: sa.Connection, table: sa.Table) -> int:
    """Return the last id that was given, even if its row is deleted by now."""
    if table.autoincrement_column is None:
        return 0
    highest = connection.execute(sa.select(sa.func.max(table.autoincrement_column))).scalar() or 0
    last = 0
    if sequence := find_sequence(connection, table):
        # The name is PostgreSQL's own, quoted if that is needed.
        query = f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {sequence}"  # noqa: S608
        last = connection.exec_driver_sql(query).scalar_one()
    elif table.dialect_options["sqlite"]["autoincrement"]:
        query = "SELECT max(seq) FROM sqlite_sequence WHERE name = ?"
        last = connection.exec_driver_sql(query, (table.name,)).scalar() or 0
    return max(int(highest), int(last))


def _encode_schema(dump: Dump) -> bytes:
    document = {"revision": dump.revision, "tables": [as_dict(table) for table in dump.tables]}
    return json.dumps(document, indent=1).encode() + b"\n"


def _parse_table(fields: dict[str, Any]) -> DumpedTable:
    texts = (fields["name"], fields["sha256"], *fields["columns"])
    numbers = (fields["rows"], fields["last_id"])
    are_numbers = all(type(number) is int and 0 <= number < 1 << 63 for number in numbers)
    if not are_numbers or not all(isinstance(text, str) for text in texts):
        raise TypeError
    return DumpedTable(**{**fields, "columns": tuple(fields["columns"])})


def dump_database(url: str, root: str, folder: int) -> list[str]:
    """Write the tables of a database into new files of an open folder; return their names."""
    names: list[str] = []

    def write_file(name: str, lines: Iterator[bytes]) -> None:
        with closing(OutputFile(folder, name)) as file:
            for line in lines:
                file.write(line)
            file.flush()
        names.append(name)

    with closing(Database(url, root)) as database, database.snapshot() as connection:
        dump_tables(connection, HEAD, write_file)
    return names


# Filling an empty database with the files of a dump, in one transaction, compared at its end.


_MOST_LINE_BYTES = 1 << 28
_BATCH_ROWS, _BATCH_BYTES = 500, 1 << 20


def load_tables(
    connection: sa.Connection,
    dump: Dump,
    open_file: OpenFile,
    show_rows: Callable[[int, int], None],
) -> None:
    """Create the tables of the dump's migration, fill and compare them, and bring them up to date.

    The database has no table yet. The caller commits, or rolls all of it back.
    """
    is_known = is_revision(dump.revision)
    if not is_known and dump.revision.isdigit() and dump.revision > HEAD:
        raise InvalidBackup("a newer Looseleaf has made its database; use that one")
    if not is_known:
        raise InvalidBackup("the description of its database is damaged")
    upgrade_tables(connection, dump.revision)
    reflected_tables = _reflect(connection, dump)
    # A migration may have put first rows into its tables; those of the dump take their place.
    for table in reversed(reflected_tables):
        connection.execute(table.delete())
    summaries = {table.name: table for table in dump.tables}
    rows_done, total = 0, sum(table.rows for table in dump.tables)
    for table in reflected_tables:
        for count in _fill(connection, table, summaries[table.name], open_file):
            rows_done += count
            show_rows(rows_done, total)
    verify_tables(connection, dump)
    if dump.revision != HEAD:
        upgrade_tables(connection, HEAD)


def verify_tables(connection: sa.Connection, dump: Dump) -> None:
    """Compare every row of the database with a dump."""
    summaries = {table.name: table for table in dump.tables}
    for table in _reflect(connection, dump):
        expected = summaries[table.name]
        summary = RowSummary()
        lines = read_lines(connection, table, expected.columns)
        for _line in summary.watch(lines):
            pass
        if (summary.rows, summary.hexdigest()) != (expected.rows, expected.sha256):
            raise InvalidBackup(f"its table {table.name} is not what was written")


def require_empty(connection: sa.Connection) -> None:
    """Raise `DatabaseTaken` if a PostgreSQL database has a table, whoever created it."""
    names = sa.inspect(connection).get_table_names()
    if names:
        raise DatabaseTaken(min(names))


def note_mark(connection: sa.Connection, archive: str) -> None:
    """Record which archive the rows are from, until its folder is there."""
    connection.execute(tables.state.insert().values(name=RESTORE_MARK, number=0, text=archive))


def read_mark(connection: sa.Connection) -> str:
    """Return the archive from which a killed restore has filled the database, or ""."""
    if not sa.inspect(connection).has_table(tables.state.name):
        return ""
    query = sa.select(tables.state.c.text).where(tables.state.c.name == RESTORE_MARK)
    return connection.execute(query).scalar() or ""


def remove_mark(connection: sa.Connection) -> None:
    """Remove the note: the restore is complete."""
    connection.execute(tables.state.delete().where(tables.state.c.name == RESTORE_MARK))


def drop_tables(connection: sa.Connection) -> None:
    """Remove everything that a restore has created."""
    tables.load_metadata().drop_all(connection)
    connection.exec_driver_sql("DROP TABLE alembic_version")


def _reflect(connection: sa.Connection, dump: Dump) -> list[sa.Table]:
    """Return the tables that a dump names, as they are in the database, in the order to fill."""
    metadata = sa.MetaData()
    metadata.reflect(connection)
    expected = {table.name: sorted(table.columns) for table in dump.tables}
    reflected_tables = [
        table for table in metadata.sorted_tables if table.name != "alembic_version"
    ]
    actual = {table.name: sorted(table.columns.keys()) for table in reflected_tables}
    if actual != expected or len(dump.tables) != len(expected):
        raise InvalidBackup(f"its tables are not those of the migration {dump.revision}")
    return reflected_tables


def _fill(
    connection: sa.Connection, table: sa.Table, summary: DumpedTable, open_file: OpenFile
) -> Iterator[int]:
    """Fill a table a batch at a time; yield the number of rows of each."""
    insert = table.insert()
    try:
        with open_file(f"{table.name}.jsonl") as file:
            for rows in _read_batches(file, table, summary.columns):
                connection.execute(insert, rows)
                yield len(rows)
    except (sa.exc.DataError, sa.exc.IntegrityError) as error:
        reason = str(error.orig or error).partition("\n")[0]
        raise InvalidBackup(f"its table {table.name} does not fit: {reason}") from error
    if summary.last_id:
        _set_last_id(connection, table, summary.last_id)


def _set_last_id(connection: sa.Connection, table: sa.Table, last_id: int) -> None:
    if sequence := find_sequence(connection, table):
        connection.execute(sa.select(sa.func.setval(sequence, last_id)))
    elif (
        connection.dialect.name == "sqlite"
        and (tables.load_metadata().tables[table.name].dialect_options["sqlite"]["autoincrement"])
    ):
        name = (table.name,)
        connection.exec_driver_sql("DELETE FROM sqlite_sequence WHERE name = ?", name)
        statement = "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)"
        connection.exec_driver_sql(statement, (table.name, last_id))


def _read_batches(
    file: BinaryIO, table: sa.Table, columns: tuple[str, ...]
) -> Iterator[list[dict[str, object]]]:
    types = [(table.c[name].type.python_type, bool(table.c[name].nullable)) for name in columns]
    rows: list[dict[str, object]] = []
    size = 0
    while line := file.readline(_MOST_LINE_BYTES):
        cells = _parse_row(line)
        if cells is None or len(cells) != len(columns) or not _fits(cells, types):
            raise InvalidBackup(f"a row of its table {table.name} is damaged")
        rows.append(dict(zip(columns, cells, strict=True)))
        size += len(line)
        if len(rows) >= _BATCH_ROWS or size >= _BATCH_BYTES:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


def _parse_row(line: bytes) -> list[object] | None:
    try:
        cells = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cells if isinstance(cells, list) else None


def _fits(cells: list[object], types: list[tuple[type, bool]]) -> bool:
    """Return whether cells have the types of their columns; SQLite itself takes anything."""
    return all(
        is_nullable if cell is None else type(cell) is cell_type
        for cell, (cell_type, is_nullable) in zip(cells, types, strict=True)
    )


# The database of a workspace that is being restored: filled from a dump, then kept or undone.


def _show_nothing(_rows_done: int, _total: int) -> None:
    """Show no progress."""


def fill_sqlite(
    folder: str, root: str, show_rows: ShowRows = _show_nothing, *, file_mode: int
) -> None:
    """Fill the SQLite database of a new workspace with the dump in a folder."""
    dump = _read_schema(folder)
    engine = open_engine("", os.path.join(root, FILE), file_mode)
    try:
        with (
            DatabaseErrorContext(),
            engine.connect().execution_options(writing=True) as connection,
            connection.begin(),
        ):
            load_tables(connection, dump, partial(_open_file, folder), show_rows)
    finally:
        engine.dispose()


class PostgresRestore:
    """One restore into a PostgreSQL database: all of it is there after `commit`, or nothing.

    A restore that is killed after `commit` leaves its mark in the database. When the same restore
    runs again, it compares all rows with its archive and continues; any other restore finds a
    database that is not empty.
    """

    def __init__(self, url: str, *, target: str) -> None:
        self._engine = open_engine(url, "", 0)
        self._target = target
        self._connection: sa.Connection | None = None

    def require_empty(self) -> None:
        """Refuse a database with tables, unless a restore to the same folder has left them."""
        with DatabaseErrorContext(), self._engine.connect() as connection:
            if not read_mark(connection).endswith(f" {self._target}"):
                require_empty(connection)

    def fill(self, folder: str, show_rows: ShowRows) -> None:
        """Fill the database with the dump in a folder, in a transaction that stays open."""
        dump = _read_schema(folder)
        hashes = sorted(table.sha256 for table in dump.tables)
        mark = f"{dump.revision} {' '.join(hashes)} {self._target}"
        with DatabaseErrorContext():
            self._connection = self._engine.connect()
            self._connection.begin()
            if dump.revision == HEAD and read_mark(self._connection) == mark:
                verify_tables(self._connection, dump)
                return
            require_empty(self._connection)
            open_file = partial(_open_file, folder)
            load_tables(self._connection, dump, open_file, show_rows)
            note_mark(self._connection, mark)

    def commit(self) -> None:
        """Commit the rows that were filled in."""
        if self._connection is not None:
            with DatabaseErrorContext():
                self._connection.commit()

    def undo(self) -> None:
        """Remove the committed tables, since the folder could not be put in its place."""
        if self._connection is not None:
            with DatabaseErrorContext(), self._connection.begin():
                drop_tables(self._connection)

    def finish(self) -> None:
        """Remove the mark; a failure does no harm, since the folder is in its place."""
        if self._connection is not None:
            with suppress(LooseleafError), DatabaseErrorContext(), self._connection.begin():
                remove_mark(self._connection)

    def close(self) -> None:
        """Close the database; changes that were not committed are rolled back."""
        if self._connection is not None:
            self._connection.close()
        self._engine.dispose()


def _read_schema(folder: str) -> Dump:
    with _open_file(folder, SCHEMA_FILE) as file:
        return parse_schema(file.read(MOST_SCHEMA_BYTES))


def _open_file(folder: str, name: str) -> BinaryIO:
    try:
        return open(os.path.join(folder, name), "rb")
    except FileNotFoundError:
        raise InvalidBackup(f"its database lacks {name}") from None
