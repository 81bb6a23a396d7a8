"""A backup is one file that is whole or not there, and any tar can open it."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.errors import Unavailable
from looseleaf.features.backup.archive import open_archive
from looseleaf.features.backup.folder_copies import CopyChanged, FileCopy, FileGroup
from tests.features.backup.copies import fill, tree_of, write_backup


class Groups:
    """A source of one group, which changes some times while it is copied."""

    def __init__(self, changes: int, size: int = 10) -> None:
        self.left_out: list[str] = []
        self.changes, self.content = changes, b"x" * size
        self.holds: list[bool] = []

    def groups(self, _scratch: str) -> Iterator[FileGroup]:
        """Yield a file before, the group, and a file after it."""
        yield self._plain("shared/before")
        yield FileGroup(self._read, (1, 2))
        yield self._plain("shared/z-after")

    def _plain(self, path: str) -> FileGroup:
        copy = FileCopy(path.encode(), 0o600, 0, len(self.content), (self.content,))
        return FileGroup(lambda _hold: iter((copy,)), (1, 2))

    def _read(self, hold: bool) -> Iterator[FileCopy]:  # noqa: FBT001 - as a group has it
        self.holds.append(hold)
        yield FileCopy(b"shared/page", 0o600, 0, len(self.content), (self.content,))
        if len(self.holds) <= self.changes:
            raise CopyChanged("shared/page")


def test_the_standard_programs_open_and_check_it(workspace: Workspace, tmp_path: Path) -> None:
    """Tar takes it apart, and sha256sum finds every file as the manifest says."""
    fill(workspace)
    result = write_backup(workspace.root, tmp_path / "backups")
    folder = tmp_path / "by-hand"
    folder.mkdir()
    subprocess.run(["tar", "xf", result.path, "-C", str(folder)], check=True)
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    assert checked.stdout.count(": OK") == result.files + 1  # and the description
    taken = tree_of(folder)
    for name in ("BACKUP.json", "SHA256SUMS", "ARCHIVE-SHA256"):
        del taken[name]
    assert taken == tree_of(workspace.root)
    size, digest = _own_checksum(folder)
    head = subprocess.run(["head", "-c", size, result.path], check=True, capture_output=True)
    summed = subprocess.run(["sha256sum"], input=head.stdout, check=True, capture_output=True)
    assert summed.stdout.split()[0].decode() == digest


def _own_checksum(folder: Path) -> tuple[str, str]:
    words = (folder / "ARCHIVE-SHA256").read_text().split()
    return words[3], words[0]


def test_it_is_for_its_owner_alone(workspace: Workspace, tmp_path: Path) -> None:
    """Whatever the umask says."""
    before = os.umask(0)
    try:
        result = write_backup(workspace.root, tmp_path / "backups")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(result.path).st_mode) == 0o600
    assert os.listdir(tmp_path / "backups") == [os.path.basename(result.path)]


def test_two_of_one_second_have_two_names(workspace: Workspace, tmp_path: Path) -> None:
    """No backup takes the place of another."""
    names = [os.path.basename(write_backup(workspace.root, tmp_path).path) for _ in range(3)]
    assert names == [f"looseleaf-19700101T000001Z{end}.tar" for end in ("", "-2", "-3")]


@pytest.mark.parametrize("changes", [1, 2, 3])
@pytest.mark.parametrize("size", [10, 1_500_000])
def test_a_group_that_changes_is_copied_again(changes: int, size: int, tmp_path: Path) -> None:
    """The archive is the same as without the change, and the last attempt keeps writers out."""
    quiet, restless = Groups(0, size), Groups(changes, size)
    expected = write_backup("", tmp_path / "quiet", quiet)
    result = write_backup("", tmp_path / "restless", restless)
    assert Path(result.path).read_bytes() == Path(expected.path).read_bytes()
    assert (result.files, result.content_bytes) == (3, 3 * size)
    assert restless.holds == [attempt == 4 for attempt in range(1, changes + 2)]
    with open_archive(result.path) as reader:
        assert reader.read_all(lambda _header, _chunks: None).files == 3


def test_a_file_that_never_rests_is_an_error(tmp_path: Path) -> None:
    """And no archive is left, nor anything of one."""
    with pytest.raises(Unavailable, match=r"shared/page.*keeps writing"):
        write_backup("", tmp_path, Groups(9))
    assert not list(tmp_path.iterdir())


def test_a_backup_that_is_cancelled_leaves_nothing(workspace: Workspace, tmp_path: Path) -> None:
    """It stops between two files."""
    with pytest.raises(Unavailable, match="cancelled"):
        write_backup(workspace.root, tmp_path / "backups", is_cancelled=lambda: True)
    assert not list((tmp_path / "backups").iterdir())


def test_one_at_a_time_goes_into_a_folder(workspace: Workspace, tmp_path: Path) -> None:
    """The second one says so, and the first is not harmed."""
    failures: list[Unavailable] = []

    def show_progress(_done: int, _total: int) -> None:
        if not failures:
            with pytest.raises(Unavailable, match="another backup") as caught:
                write_backup(workspace.root, tmp_path)
            failures.append(caught.value)

    result = write_backup(workspace.root, tmp_path, show_progress=show_progress)
    assert failures
    with open_archive(result.path) as reader:
        assert reader.read_all(lambda _header, _chunks: None).files == result.files
