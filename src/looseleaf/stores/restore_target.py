"""Where the database of a restored workspace goes: an SQLite file in it, or PostgreSQL.

The tables of a backup are filled into either.
"""

from __future__ import annotations

import os

from looseleaf.errors import InvalidArgument
from looseleaf.errors.bundles import InvalidBackup
from looseleaf.files import atomic
from looseleaf.stores.disk.settings_file import set_database_url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.stores.database.copies.restored_database import PostgresRestore

    ShowRows = Callable[[int, int], None]

SQLITE = "sqlite"
TABLES = "database"  # the folder of an archive that has the tables
_HOME = ".looseleaf"
_DATABASES = ("looseleaf.db", "engine.db")  # earlier versions made the second one
_SUFFIXES = ("", "-wal", "-shm", "-journal")


class RestoreTarget:
    """The database of one restore; `choice` is an address, "sqlite", or "" as in the backup.

    With `is_from_environment`, the address is written only to a settings file that has one.
    """

    def __init__(
        self, choice: str, folder: str, *, show_rows: ShowRows, is_from_environment: bool = False
    ) -> None:
        self._choice, self._folder, self._show_rows = choice, folder, show_rows
        self._is_from_environment = is_from_environment
        self._postgres: PostgresRestore | None = None
        self.is_filled = False

    def check(self, kind: str) -> None:
        """Refuse a backup whose database has no place to go to; nothing is written yet."""
        if kind == "postgresql" and not self._choice:
            reason = (
                "the backup is of a workspace with PostgreSQL: give the address of an empty "
                "database, or sqlite for a file in the new folder"
            )
            raise InvalidArgument("database", reason)
        if self._choice not in ("", SQLITE) and kind != "none":
            from looseleaf.stores.database.copies.restored_database import PostgresRestore

            self._postgres = PostgresRestore(self._choice, target=self._folder)
            self._postgres.require_empty()

    def fill(self, staging: int, path: str, *, file_mode: int) -> None:
        """Fill the database from the files in a folder, which is open and has this path."""
        has_tables = TABLES in os.listdir(staging)
        has_file = os.path.exists(os.path.join(path, _HOME, _DATABASES[0]))
        if has_tables and has_file:
            raise InvalidBackup("it has two databases")
        if self._postgres is not None and has_file:
            self._dump_sqlite(staging, path)
            has_tables = True
        if has_tables:
            from looseleaf.stores.database.copies.restored_database import fill_sqlite

            tables_path = os.path.join(path, TABLES)
            if self._postgres is not None:
                self._postgres.fill(tables_path, self._show_rows)
            else:
                fill_sqlite(tables_path, path, self._show_rows, file_mode=file_mode)
            atomic.remove_tree(staging, TABLES)
        self.is_filled = has_tables or has_file
        if self._choice:
            url = "" if self._choice == SQLITE else self._choice
            set_database_url(staging, path, url, only_changed=self._is_from_environment)

    def commit(self) -> None:
        """Commit the rows that were filled in; the files are on disk by now."""
        if self._postgres is not None:
            self._postgres.commit()

    def undo(self) -> None:
        """Leave the database as it was before."""
        if self._postgres is not None:
            self._postgres.undo()

    def finish(self) -> None:
        """Complete the database; the folder is in its place."""
        if self._postgres is not None:
            self._postgres.finish()

    def close(self) -> None:
        """Close the database."""
        if self._postgres is not None:
            self._postgres.close()

    def _dump_sqlite(self, staging: int, path: str) -> None:
        """Put the tables of the SQLite file into a folder, and remove the files of SQLite."""
        from looseleaf.stores.database.copies.database_dump import dump_database

        atomic.create_folder(staging, TABLES)
        folder = os.open(TABLES, atomic.FOLDER, dir_fd=staging)
        try:
            dump_database("", path, folder)
        finally:
            os.close(folder)
        home = os.open(_HOME, atomic.FOLDER, dir_fd=staging)
        try:
            for name in (name + ending for name in _DATABASES for ending in _SUFFIXES):
                atomic.remove(home, name)
        finally:
            os.close(home)
