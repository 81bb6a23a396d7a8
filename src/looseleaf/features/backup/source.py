"""Everything of a workspace that a backup holds, in the order that keeps it consistent.

1. The note of the audit's end, then the database: the note must not be newer than the audit.
2. The database before the pages: every change that a row records is then in a page or its history,
   and a job that continues from the copy finds in the history what it has done.
3. The list of agents, as of one moment; then each shelf, page by page, each with its history.
4. Everything else, file by file.
"""

from __future__ import annotations

import os
import sqlite3

from looseleaf.errors import Unavailable, WorkspaceUnavailable
from looseleaf.features.backup import folder_copies
from looseleaf.features.backup.folder_copies import (
    FileGroup,
    FolderCopies,
    ShelfCopies,
    list_folder,
)
from looseleaf.features.backup.restoration import TABLES
from looseleaf.files import atomic
from looseleaf.files.folders import OsErrorContext, open_folder
from looseleaf.stores.database.audit_chain import NAME as AUDIT_END
from looseleaf.stores.database.sqlite_file import address_of, check_plain
from looseleaf.stores.disk.agent_records import HINTS, REGISTER
from looseleaf.stores.disk.listing import HISTORY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.features.backup.folder_copies import AgentPlace, FileCopy
    from looseleaf.files.root_folder import RootFolder


# A consistent copy of an SQLite file that others use, by SQLite's own backup.


_PAGES_AT_ONCE = 4_096
_BUSY_SECONDS = 30.0


def copy_database(file: str, folder: int, name: str, target: str) -> str:
    """Copy the database into a new file of an open folder, whose path is `target`.

    The copy is the state at one moment: a read transaction holds it, and with a write-ahead log
    readers keep no writer waiting. The result is the first fault that SQLite finds in the copy, or
    "".
    """
    label = os.path.basename(file)
    check_plain(file, label)
    fd, _ = atomic.create(folder, name, b"")
    os.close(fd)
    try:
        source = sqlite3.connect(address_of(file), uri=True, timeout=_BUSY_SECONDS)
        copy = sqlite3.connect(address_of(target), uri=True, isolation_level=None)
        try:
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM sqlite_master").fetchone()
            source.backup(copy, pages=_PAGES_AT_ONCE)
            source.rollback()
            # One plain file, without a log beside it, whatever the original is set to.
            copy.execute("PRAGMA journal_mode = DELETE")
            verdict = str(copy.execute("PRAGMA quick_check(1)").fetchone()[0])
        finally:
            copy.close()
            source.close()
    except sqlite3.Error as error:
        raise Unavailable(label, str(error)) from error
    return "" if verdict == "ok" else verdict


HOME = ".looseleaf"
SETTINGS = "looseleaf.toml"
_DATABASE = "looseleaf.db"
_SQLITE_ENDINGS = (".db", ".db-wal", ".db-shm", ".db-journal")
# Built again if they are missing, or needed only by processes that run now.
_NOT_COPIED = ("agents", "index", "staging", "workers")
_COPIED_BEFORE = (AUDIT_END, "deleted", "history")
_TRIAL = "doctor-"  # folders of tests of the doctor
_SHELF_FOLDERS = ("shared", "network")
_PIPELINE = "pipeline-"


class WorkspaceFiles:
    """The files of one workspace on a disk, for a backup."""

    def __init__(
        self, root_folder: RootFolder, *, has_sqlite: bool, database_url: str = ""
    ) -> None:
        self._root_folder, self._has_sqlite = root_folder, has_sqlite
        self._database_url = database_url
        self.left_out: list[str] = []
        self._steps_done, self._total = 0, 1
        self._root = -1

    def groups(self, scratch: str) -> Iterator[FileGroup]:
        """Return every group; the database is copied to the folder `scratch` first."""
        with OsErrorContext("The workspace"):
            self._root = self._root_folder.open()
            try:
                home = open_folder(self._root, (HOME,))
                try:
                    yield from self._group_first_files(home)
                    if self._database_url:
                        yield from self._dump_tables(scratch)
                    elif self._has_sqlite:
                        yield from self._copy_database(home, scratch)
                    yield from self._group_shelves()
                    yield from self._group_home_files(home)
                finally:
                    os.close(home)
                yield from self._group_pipelines()
            finally:
                os.close(self._root)

    def _build_copies(self) -> FolderCopies:
        return FolderCopies(self.left_out, (self._steps_done, self._total))

    def _group_first_files(self, home: int) -> Iterator[FileGroup]:
        if SETTINGS not in os.listdir(self._root):
            raise WorkspaceUnavailable(f"{self._root_folder.path} has no {SETTINGS} any more")
        yield self._build_copies().group_of(self._root, SETTINGS, SETTINGS.encode())
        yield self._build_copies().group_of(home, AUDIT_END, f"{HOME}/{AUDIT_END}".encode())

    def _copy_database(self, home: int, scratch: str) -> Iterator[FileGroup]:
        if _DATABASE not in os.listdir(home):
            return
        folder = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            path = f"{HOME}/{_DATABASE}"
            file = os.path.join(self._root_folder.path, path)
            fault = copy_database(file, folder, _DATABASE, os.path.join(scratch, _DATABASE))
            if fault:
                self.left_out.append(f"{path}: it is copied, and damaged: {fault}")
            yield self._build_copies().group_of(folder, _DATABASE, path.encode())
        finally:
            os.close(folder)

    def _dump_tables(self, scratch: str) -> Iterator[FileGroup]:
        """Yield the tables of a PostgreSQL database, all as of one moment."""
        from looseleaf.features.backup.database_copies import dump_database

        folder = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in dump_database(self._database_url, self._root_folder.path, folder):
                yield self._build_copies().group_of(folder, name, f"{TABLES}/{name}".encode())
        finally:
            os.close(folder)

    def _group_shelves(self) -> Iterator[FileGroup]:
        agents = folder_copies.list_agent_places(self._root)
        self.left_out += agents.left_out
        if not agents.places:
            self._require_no_hints()
        history = self._open(HISTORY)
        try:
            remaining = set()
            if history >= 0:
                remaining = {name for name, is_folder, _ in list_folder(history) if is_folder}
                for name, _is_folder, is_file in list_folder(history):
                    if is_file:
                        yield self._build_copies().group_of(
                            history, name, f"{HISTORY}/{name}".encode()
                        )
            users = self._list_user_folders()
            self._total = len(agents.places) + len(users) + len(_SHELF_FOLDERS) + 1
            if agents.register is not None:
                yield _build_group(agents.register, (self._steps_done, self._total))
            yield from self._group_loose_files()
            for path, shelf_name in (*((name, name) for name in _SHELF_FOLDERS), *users):
                remaining.discard(shelf_name)
                yield from self._group_shelf(self._open(path), path, history, shelf_name)
            for place in agents.places:
                shelf_name = f"agent-{place.agent_id}"
                is_own = shelf_name in remaining and place.agent_id > 0
                remaining.discard(shelf_name)
                yield from self._group_agent(place, history if is_own else -1, shelf_name)
            for shelf_name in sorted(remaining):  # of agents whose folder is gone
                yield from self._group_shelf(-1, "", history, shelf_name)
        finally:
            if history >= 0:
                os.close(history)

    def _require_no_hints(self) -> None:
        """Refuse to back up a workspace whose agents are gone: its disk may not be mounted.

        Such a backup would be valid, and would take the place of backups that hold pages.
        """
        hints = self._open(HINTS)
        if hints < 0:
            return
        try:
            if os.listdir(hints):
                reason = "agents were created here, and the folder agents/ is missing or empty"
                raise WorkspaceUnavailable(reason)
        finally:
            os.close(hints)

    def _group_agent(self, place: AgentPlace, history: int, shelf_name: str) -> Iterator[FileGroup]:
        folder = folder_copies.open_place(self._root, place)
        path = f"{place.parent}/{place.name}"
        if folder is not None and place.agent_id and not folder_copies.has_record(folder):
            record = folder_copies.find_moved_record(self._root, place)
            if record is not None:
                yield _build_group(record, (self._steps_done, self._total))
        yield from self._group_shelf(-1 if folder is None else folder, path, history, shelf_name)

    def _group_shelf(
        self, folder: int, path: str, history: int, shelf_name: str
    ) -> Iterator[FileGroup]:
        """Yield the groups of a shelf, and close its folder."""
        self._steps_done += 1
        own_history = -1
        try:
            if history >= 0:
                own_history = _open_below(history, shelf_name)
            paths = os.fsencode(path)
            yield from ShelfCopies(
                self._build_copies(), folder, paths, own_history, shelf_name
            ).groups()
        finally:
            for fd in (folder, own_history):
                if fd >= 0:
                    os.close(fd)

    def _list_user_folders(self) -> list[tuple[str, str]]:
        users = self._open("users")
        if users < 0:
            return []
        try:
            names = [name for name, is_folder, _ in list_folder(users) if is_folder]
        finally:
            os.close(users)
        return [(f"users/{name}", f"user-{name}") for name in names]

    def _group_loose_files(self) -> Iterator[FileGroup]:
        """Yield the files that people put beside the folders of agents and users."""
        for parent in ("agents", "users"):
            folder = self._open(parent)
            if folder < 0:
                continue
            try:
                for name, _is_folder, is_file in list_folder(folder):
                    if is_file and name != REGISTER:
                        path = os.fsencode(f"{parent}/{name}")
                        yield self._build_copies().group_of(folder, name, path)
            finally:
                os.close(folder)

    def _group_home_files(self, home: int) -> Iterator[FileGroup]:
        self._steps_done = self._total
        copies = self._build_copies()
        for name, is_folder, _is_file in list_folder(home):
            path = f"{HOME}/{name}".encode()
            if name in (*_NOT_COPIED, *_COPIED_BEFORE) or name.endswith(_SQLITE_ENDINGS):
                continue
            if not is_folder:
                yield copies.group_of(home, name, path)
            elif not name.startswith(_TRIAL):
                yield from self._group_tree(home, name, path)

    def _group_pipelines(self) -> Iterator[FileGroup]:
        for name, is_folder, _is_file in list_folder(self._root):
            if is_folder and name.startswith(_PIPELINE):
                yield from self._group_tree(self._root, name, os.fsencode(name))

    def _group_tree(self, parent: int, name: str, path: bytes) -> Iterator[FileGroup]:
        folder = open_folder(parent, (name,))
        try:
            yield from self._build_copies().groups(folder, path)
        finally:
            os.close(folder)

    def _open(self, path: str) -> int:
        return _open_below(self._root, path)


def _open_below(folder: int, path: str) -> int:
    """Open a folder below another, or -1 if there is none."""
    try:
        return open_folder(folder, path.split("/"))
    except FileNotFoundError:
        return -1


def _build_group(copy: FileCopy, progress: tuple[int, int]) -> FileGroup:
    return FileGroup(lambda _hold: iter((copy,)), progress)
