"""Making and restoring a backup as scenes that can be stopped anywhere."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from looseleaf import Workspace
from looseleaf.features.backup.folder_copies import FileGroup
from looseleaf.features.backup.restoration import restore_workspace
from looseleaf.features.backup.source import WorkspaceFiles
from looseleaf.files.root_folder import RootFolder
from looseleaf.operations.users import create_user
from tests.features.backup.copies import BY, fill, write_backup

# With tables, the database is in the archive as that of PostgreSQL is.
SCENES = ("backup", "restore", "backup with tables", "restore with tables")


class TableFiles(WorkspaceFiles):
    """The files of a workspace with the tables of its SQLite database, in place of its file."""

    def __init__(self, root: str) -> None:
        super().__init__(RootFolder(root), has_sqlite=True)

    def _copy_databases(self, home: int, scratch: str) -> Iterator[FileGroup]:
        assert home >= 0
        return self._dump_tables(scratch)


def prepare(name: str, root: Path) -> None:
    """Create a folder with a small workspace, and a backup of it if that is to be restored."""
    workspace = Workspace.create(root / "workspace", agent="ada")
    page = workspace.agents.resolve("ada").shelf.page("MEMORY.md")
    workspace.pages.append(page, "- a fact\n", change=BY)
    create_user(workspace.context, "eve")
    workspace.close()
    if name.startswith("restore"):
        perform(name.replace("restore", "backup"), root)


def perform(name: str, root: Path) -> None:
    """Back up the workspace, or restore its backup."""
    if name.startswith("backup"):
        source = TableFiles(str(root / "workspace")) if name.endswith("tables") else None
        write_backup(root / "workspace", root / "backups", source)
    else:
        (archive,) = (root / "backups").glob("*.tar")
        restore_workspace(str(archive), str(root / "new"), database="sqlite")


def warm_up() -> None:
    """Act out every scene once, so that everything is imported that ever will be."""
    folder = Path(tempfile.mkdtemp())
    fill(Workspace.create(folder / "other", agent="ada"))
    write_backup(folder / "other", folder / "backups")
    for name in SCENES:
        prepare(name, folder / name)
        perform(name, folder / name)
    shutil.rmtree(folder)
