"""Making and restoring a backup as scenes that can be stopped anywhere."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from looseleaf import Workspace
from looseleaf.bundles.backup.restoration import restore_backup
from looseleaf.operations.users import create_user
from tests.bundles.backup.copies import BY, back_up, fill

SCENES = ("backup", "restore")


def prepare(name: str, root: Path) -> None:
    """Make a folder with a small workspace, and a backup of it where that is to be restored."""
    workspace = Workspace.create(root / "workspace", agent="ada")
    page = workspace.agents.resolve("ada").shelf.page("MEMORY.md")
    workspace.pages.append(page, "- a fact\n", change=BY)
    create_user(workspace.context, "eve")
    if name == "restore":
        back_up(root / "workspace", root / "backups")
    workspace.close()


def perform(name: str, root: Path) -> None:
    """Back up the workspace, or restore its backup."""
    if name == "backup":
        back_up(root / "workspace", root / "backups")
    else:
        (archive,) = (root / "backups").glob("*.tar")
        restore_backup(str(archive), str(root / "new"))


def warm_up() -> None:
    """Act out every scene once, so that everything is imported that ever will be."""
    folder = Path(tempfile.mkdtemp())
    fill(Workspace.create(folder / "other", agent="ada"))
    back_up(folder / "other", folder / "backups")
    for name in SCENES:
        prepare(name, folder / name)
        perform(name, folder / name)
    shutil.rmtree(folder)
