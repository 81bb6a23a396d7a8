"""The list of backups: what is a backup, what is whole, and which are the oldest."""

from __future__ import annotations

import os
from pathlib import Path

from looseleaf import Workspace
from looseleaf.features.backup.creation import list_backups, remove_old_backups
from looseleaf.files.root_folder import read_identity
from tests.features.backup.archives import DESCRIPTION, SETTINGS, build
from tests.features.backup.copies import write_backup


def lay(folder: Path, *times: float, workspace: str = "abc") -> None:
    """Write backups of a workspace, one for each time."""
    for time in times:
        told = {**DESCRIPTION, "created": float(time), "workspace": workspace}
        (folder / f"{workspace}-{time}.tar").write_bytes(build(SETTINGS, description=told))


def test_other_files_are_not_listed(workspace: Workspace, tmp_path: Path) -> None:
    """An archive of another program, text, a folder, and a backup on its way."""
    (tmp_path / "other.tar").write_bytes(bytes(10_240))
    (tmp_path / "text.tar").write_text("x")
    (tmp_path / "folder.tar").mkdir()
    (tmp_path / ".partial.tar").write_bytes(build(SETTINGS))
    result = write_backup(workspace.root, tmp_path)
    (listed,) = list_backups(str(tmp_path))
    assert (listed.path, listed.is_whole) == (result.path, True)
    assert listed.description.workspace == read_identity(workspace.root)
    assert list_backups(str(tmp_path / "missing")) == []


def test_a_backup_that_was_cut_off_is_not_whole(workspace: Workspace, tmp_path: Path) -> None:
    """A copy of it that broke off half-way, too."""
    path = Path(write_backup(workspace.root, tmp_path).path)
    raw = path.read_bytes()
    for size in (len(raw) - 1, len(raw) - 512, len(raw) // 2, 2_000):
        path.write_bytes(raw[:size])
        (listed,) = list_backups(str(tmp_path))
        assert not listed.is_whole


def test_the_oldest_of_a_workspace_go(tmp_path: Path) -> None:
    """Not those of another one, not what is cut off, and none if all are kept."""
    lay(tmp_path, 1, 2, 3, 4)
    lay(tmp_path, 0, workspace="other")
    broken = tmp_path / "abc-1.tar"
    broken.write_bytes(broken.read_bytes()[:-1])
    assert remove_old_backups(str(tmp_path), "abc", 0) == []
    assert remove_old_backups(str(tmp_path), "abc", 2) == ["abc-2.tar"]
    assert sorted(os.listdir(tmp_path)) == ["abc-1.tar", "abc-3.tar", "abc-4.tar", "other-0.tar"]
    assert [backup.name for backup in list_backups(str(tmp_path))] == [
        *("abc-4.tar", "abc-3.tar", "abc-1.tar", "other-0.tar")
    ]
