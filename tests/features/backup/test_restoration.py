"""A backup comes back as it was, to a new folder, whole or not at all."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.errors.features import FolderTaken, InvalidBackup
from looseleaf.features.backup.restoration import restore_workspace
from tests.features.backup.archives import SETTINGS, build, write
from tests.features.backup.copies import faults_of, fill, restore, tree_of, write_backup


def test_everything_comes_back(workspace: Workspace, tmp_path: Path) -> None:
    """Pages, history, agents, accounts and records; the doctor finds nothing to say."""
    fill(workspace)
    restored = restore(write_backup(workspace.root, tmp_path / "backups"), tmp_path / "new")
    assert tree_of(restored.root) == tree_of(workspace.root)
    assert (Path(restored.root) / "pipeline-1/flow-1/jobs").is_dir()
    assert [user.login for user in restored.accounts().users.list()] == ["admin", "eve"]
    assert restored.accounts().audit.verify() == workspace.accounts().audit.verify()
    assert [record.slug for record in restored.agents.deleted_records()] == ["bob"]
    assert faults_of(restored) == []
    restored.agents.restore("bob")
    shelf = restored.agents.resolve("bob").shelf
    assert restored.history.revisions(shelf.page("notes.md"))[-1].actor == "eve"


def test_an_empty_folder_is_as_good_as_a_new_one(workspace: Workspace, tmp_path: Path) -> None:
    """And one with a file of any name is refused, its file being left alone."""
    result = write_backup(workspace.root, tmp_path / "backups")
    (tmp_path / "empty").mkdir()
    restore_workspace(result.path, str(tmp_path / "empty"))
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken/.hidden").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("taken", "file", "empty"):
        with pytest.raises(FolderTaken, match="not empty"):
            restore_workspace(result.path, str(tmp_path / name))
    assert (tmp_path / "taken/.hidden").read_text() == "mine"


def test_a_folder_that_fills_meanwhile_is_left_alone(workspace: Workspace, tmp_path: Path) -> None:
    """It is looked at again before the restored one takes its place."""
    result = write_backup(workspace.root, tmp_path / "backups")
    target = tmp_path / "new"

    def show_progress(_done: int, _total: int) -> None:
        target.mkdir(exist_ok=True)
        (target / "mine").write_text("mine")

    with pytest.raises(FolderTaken):
        restore_workspace(result.path, str(target), show_progress=show_progress)
    assert os.listdir(target) == ["mine"]
    assert sorted(os.listdir(tmp_path)) == ["backups", "new", os.path.basename(workspace.root)]


def test_files_are_private_again(workspace: Workspace, tmp_path: Path) -> None:
    """Whatever the archive or the umask say."""
    loose = build(SETTINGS, ("agents/ada/MEMORY.md", b"x")).replace(b"0000600\0", b"0000777\0")
    with pytest.raises(InvalidBackup):
        restore_workspace(write(tmp_path, loose), str(tmp_path / "loose"))
    before = os.umask(0)
    try:
        restored = restore(write_backup(workspace.root, tmp_path / "backups"), tmp_path / "new")
    finally:
        os.umask(before)
    modes = {
        stat.S_IMODE(path.lstat().st_mode)
        for path in (Path(restored.root), *Path(restored.root).rglob("*"))
        if ".looseleaf/index" not in str(path)
    }
    assert modes == {0o600, 0o700}


def test_times_of_files_come_back(workspace: Workspace, tmp_path: Path) -> None:
    """To the second, so that people see when a page was changed."""
    page = Path(workspace.root) / "agents/ada/MEMORY.md"
    os.utime(page, (1_000_000_000, 1_000_000_000))
    restored = restore(write_backup(workspace.root, tmp_path / "backups"), tmp_path / "new")
    assert (Path(restored.root) / "agents/ada/MEMORY.md").stat().st_mtime == 1_000_000_000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it looks into /proc")
def test_many_and_deep_folders_are_few_open_ones(tmp_path: Path) -> None:
    """Pages and histories come by turns, and a path may be as deep as its length allows."""
    deep = "/".join(["shared", *"d" * 300, "deep.md"])
    names = [f"{top}/f{number}/x.md" for number in range(100) for top in ("shared", "users")]
    archive = write(tmp_path, build(SETTINGS, *((name, b"x") for name in (*names, deep))))
    open_counts = []

    def show_progress(_done: int, _total: int) -> None:
        open_counts.append(len(os.listdir("/proc/self/fd")))

    before = len(os.listdir("/proc/self/fd"))
    restore_workspace(archive, str(tmp_path / "new"), show_progress=show_progress)
    assert max(open_counts) < before + 100
    assert len(os.listdir("/proc/self/fd")) == before
    for name in (*names, deep):
        assert (tmp_path / "new" / name).read_bytes() == b"x"
