"""The database of a workspace that is being restored: filled from a dump, then kept or undone."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial

import sqlalchemy as sa

from looseleaf.errors import LooseleafError
from looseleaf.errors.bundles import InvalidBackup
from looseleaf.stores.database.copies import table_load
from looseleaf.stores.database.copies.table_dump import MOST_SCHEMA_BYTES, SCHEMA_FILE, parse_schema
from looseleaf.stores.database.database import DatabaseErrorContext, open_engine
from looseleaf.stores.database.settings_and_audit import HEAD
from looseleaf.stores.database.sqlite_file import FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from looseleaf.stores.database.copies.table_dump import Dump

    ShowRows = Callable[[int, int], None]


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
            table_load.load_tables(connection, dump, partial(_open_file, folder), show_rows)
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
            if not table_load.read_mark(connection).endswith(f" {self._target}"):
                table_load.require_empty(connection)

    def fill(self, folder: str, show_rows: ShowRows) -> None:
        """Fill the database with the dump in a folder, in a transaction that stays open."""
        dump = _read_schema(folder)
        hashes = sorted(table.sha256 for table in dump.tables)
        mark = f"{dump.revision} {' '.join(hashes)} {self._target}"
        with DatabaseErrorContext():
            self._connection = self._engine.connect()
            self._connection.begin()
            if dump.revision == HEAD and table_load.read_mark(self._connection) == mark:
                table_load.verify_tables(self._connection, dump)
                return
            table_load.require_empty(self._connection)
            open_file = partial(_open_file, folder)
            table_load.load_tables(self._connection, dump, open_file, show_rows)
            table_load.note_mark(self._connection, mark)

    def commit(self) -> None:
        """Commit the rows that were filled in."""
        if self._connection is not None:
            with DatabaseErrorContext():
                self._connection.commit()

    def undo(self) -> None:
        """Remove the committed tables, since the folder could not be put in its place."""
        if self._connection is not None:
            with DatabaseErrorContext(), self._connection.begin():
                table_load.drop_tables(self._connection)

    def finish(self) -> None:
        """Remove the mark; a failure does no harm, since the folder is in its place."""
        if self._connection is not None:
            with suppress(LooseleafError), DatabaseErrorContext(), self._connection.begin():
                table_load.remove_mark(self._connection)

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
