"""Filling an empty database with the files of a dump, in one transaction, compared at its end."""

from __future__ import annotations

import json

import sqlalchemy as sa

from looseleaf.errors.bundles import DatabaseTaken, InvalidBackup
from looseleaf.stores.database import tables
from looseleaf.stores.database.copies.table_dump import (
    RESTORE_MARK,
    RowSummary,
    find_sequence,
    read_lines,
)
from looseleaf.stores.database.schema_revision import is_revision, upgrade_tables
from looseleaf.stores.database.settings_and_audit import HEAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from looseleaf.stores.database.copies.table_dump import Dump, DumpedTable

    OpenFile = Callable[[str], BinaryIO]

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
