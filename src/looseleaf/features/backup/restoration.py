"""Restoring a backup: into a staging folder, which is renamed when every hash was compared."""

from __future__ import annotations

import os
import shutil
from contextlib import closing, contextmanager, suppress
from typing import Protocol

from looseleaf.errors import DiskFull, InvalidArgument
from looseleaf.errors.features import FolderTaken, InvalidBackup
from looseleaf.features.backup import archive as tar_format
from looseleaf.features.backup.archive import open_archive
from looseleaf.features.backup.creation import open_locked_folder
from looseleaf.files import atomic
from looseleaf.files.folders import GROUP, PRIVATE, OsErrorContext
from looseleaf.settings import DATABASE_URL, read_variable
from looseleaf.stores.disk.create import set_database_url
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from looseleaf.features.backup.archive import ArchiveContent, Header
    from looseleaf.features.backup.database_copies import PostgresRestore

    ShowRows = Callable[[int, int], None]


RESTORING = ".restoring"
_MOST_OPEN = 64  # folders at a time


class DatabaseTarget(Protocol):
    """The place of the database of a restored workspace."""

    def check(self, kind: str) -> None:
        """Refuse a backup with a database of this kind before anything is written."""

    def fill(self, staging: int, path: str, *, file_mode: int) -> None:
        """Fill the database from the files in the open folder at a path."""

    def commit(self) -> None:
        """Keep the content that `fill` wrote."""

    def undo(self) -> None:
        """Leave the database as it was, after `commit`."""

    def finish(self) -> None:
        """Complete the database, after the restored folder was renamed."""

    def close(self) -> None:
        """Close the database."""


def restore_backup(
    archive: str,
    target: str,
    database: DatabaseTarget,
    *,
    show_progress: Callable[[int, int], None] = lambda _bytes_done, _total: None,
) -> ArchiveContent:
    """Restore an archive to a new or an empty folder, and its database to its place.

    After a failure, both are as they were before.
    """
    path = os.path.abspath(os.path.expanduser(target))
    _require_empty(path)
    parent, name = os.path.split(path)
    with (
        open_archive(archive) as reader,
        OsErrorContext(target),
        open_locked_folder(parent, "restore") as folder,
    ):
        if shutil.disk_usage(parent).free < reader.size:
            raise DiskFull(target)
        description = reader.read_description()
        database.check(description.database)
        modes = GROUP if description.group_writable else PRIVATE
        staged_name = f".{name}{RESTORING}"
        with _open_staging_folder(folder, staged_name, modes[1]) as staging_folder:
            files = _FileTree(staging_folder, modes)

            def receive(header: Header, chunks: Iterator[bytes]) -> None:
                files.create(header, chunks)
                show_progress(reader.position, reader.size)

            try:
                content = reader.read_all(receive)
            finally:
                files.close()
            staged_path = os.path.join(parent, staged_name)
            database.fill(staging_folder, staged_path, file_mode=modes[0])
            # One call for all files; a call for each would take longer than all the rest.
            os.sync()
            _require_empty(path)
            database.commit()
            try:
                _publish(folder, staged_name, name)
            except BaseException:
                database.undo()
                raise
            database.finish()
    return content


def _publish(folder: int, staged_name: str, name: str) -> None:
    """Rename a restored folder over the empty one of that name; undo this on failure."""
    try:
        os.stat(name, dir_fd=folder)
        was_there = True
    except FileNotFoundError:
        was_there = False
    atomic.move(folder, staged_name, folder, name)
    try:
        atomic.sync(folder)
    except BaseException:
        atomic.move(folder, name, folder, staged_name)
        if was_there:
            atomic.create_folder(folder, name)
        raise


class _FileTree:
    """The files of the staging folder; the caller syncs all of them at once."""

    def __init__(self, root: int, modes: tuple[int, int]) -> None:
        self._root, self._modes = root, modes
        self._folders: dict[bytes, int] = {}  # open folders by path, the latest last

    def create(self, header: Header, chunks: Iterator[bytes]) -> None:
        if header.kind == tar_format.FOLDER:
            self._open(header.path)
            return
        path, _, name = header.path.rpartition(b"/")
        folder = self._open(path)
        mode = header.file_mode & self._modes[0] | PRIVATE[0]
        first = next(chunks, b"")
        try:
            fd, _ = atomic.create(folder, os.fsdecode(name), first, mode=mode)
        except (FileExistsError, IsADirectoryError):
            path_text = tar_format.quote_path(header.path)
            raise InvalidBackup(f"two entries in it have the path {path_text} here") from None
        try:
            for chunk in chunks:
                atomic.write_all(fd, chunk)
            os.utime(fd, (header.mtime, header.mtime))
        finally:
            os.close(fd)

    def _open(self, path: bytes) -> int:
        """Open a folder, and create it if it is missing; the last ones used stay open."""
        if not path:
            return self._root
        if path not in self._folders:
            parents = [path[:end] for end in range(len(path)) if path[end : end + 1] == b"/"]
            folder = self._root
            for place in (*parents, path):
                if place not in self._folders:
                    self._folders[place] = self._open_segment(folder, place)
                folder = self._folders[place] = self._folders.pop(place)
                if len(self._folders) > _MOST_OPEN:
                    os.close(self._folders.pop(next(iter(self._folders))))
        return self._folders[path]

    def _open_segment(self, parent: int, path: bytes) -> int:
        name = os.fsdecode(path.rpartition(b"/")[2])
        try:
            try:
                return os.open(name, atomic.FOLDER, dir_fd=parent)
            except FileNotFoundError:
                atomic.create_folder(parent, name, mode=self._modes[1], is_synced_later=True)
                return os.open(name, atomic.FOLDER, dir_fd=parent)
        except (NotADirectoryError, FileExistsError):
            path_text = tar_format.quote_path(path)
            raise InvalidBackup(f"{path_text} is a file and a folder in it") from None

    def close(self) -> None:
        for folder in self._folders.values():
            os.close(folder)
        self._folders.clear()


@contextmanager
def _open_staging_folder(parent: int, name: str, folder_mode: int) -> Iterator[int]:
    """Create the staging folder, in place of one that a killed restore left; remove it after."""
    atomic.remove_tree(parent, name)
    try:
        atomic.create_folder(parent, name, mode=folder_mode)
        staging_folder = os.open(name, atomic.FOLDER, dir_fd=parent)
        try:
            yield staging_folder
        finally:
            os.close(staging_folder)
    finally:
        with suppress(OSError):  # after a success, the folder has another name
            atomic.remove_tree(parent, name)


def _require_empty(path: str) -> None:
    try:
        names = os.listdir(path)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise FolderTaken(path) from None
    if names:
        raise FolderTaken(path)


# Where the database of a restored workspace goes: an SQLite file in it, or PostgreSQL.
# The tables of a backup are filled into either.


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
            from looseleaf.features.backup.database_copies import PostgresRestore

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
            from looseleaf.features.backup.database_copies import fill_sqlite

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
        from looseleaf.features.backup.database_copies import dump_database

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


# Restoring a backup: the files to a new folder, the database to the place that was chosen.


@value
class RestoredWorkspace:
    """A backup that was restored.

    Fields:
        root: The new folder.
        content: What the archive held.
        database: sqlite, postgresql, or none if the backup has no database.
    """

    root: str
    content: ArchiveContent
    database: str


def restore_workspace(
    archive: str,
    folder: str,
    *,
    database: str = "",
    show_progress: Callable[[int, int], None] = lambda _bytes_done, _total: None,
    show_rows: Callable[[int, int], None] = lambda _rows_done, _total: None,
) -> RestoredWorkspace:
    """Restore a backup to a new or an empty folder, and its database to an empty one.

    `database` is the address of a PostgreSQL database, or sqlite. Without it, the address of the
    environment counts; without such an address, SQLite, unless the backup has PostgreSQL.
    Progress is shown in bytes of the archive, then in rows of the database.
    """
    root = os.path.abspath(os.path.expanduser(folder))
    choice = database or read_variable(DATABASE_URL)
    target = RestoreTarget(choice, root, show_rows=show_rows, is_from_environment=not database)
    with closing(target):
        content = restore_backup(
            os.path.expanduser(archive), root, target, show_progress=show_progress
        )
    kind = SQLITE if choice in ("", SQLITE) else "postgresql"
    return RestoredWorkspace(root, content, kind if target.is_filled else "none")
