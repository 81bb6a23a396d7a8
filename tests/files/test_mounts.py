"""The list of mounts: one reader for the doctor and the search index."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf.files.mounts import MOUNTS, file_system_of, find_file_system

LINES = [
    "22 1 8:1 / / rw - ext4 /dev/sda1 rw",
    "30 22 0:40 / /mnt/my\\040notes\\134x rw shared:1 - nfs4 server:/notes rw",
    "31 22 0:41 / /mnt rw - tmpfs tmpfs rw",
    "32 22 0:42 / /mnt/my\\040notes\\134x/deep rw - xfs /dev/sdb1 rw",
]


@pytest.mark.skipif(not Path(MOUNTS).exists(), reason="the system has no list of mounts")
def test_the_file_system_is_named() -> None:
    """As the system calls it."""
    assert file_system_of("/proc") == "proc"
    assert file_system_of("/nowhere") == file_system_of("/")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me", "ext4"),
        ("/mnt/other", "tmpfs"),
        ("/mnt/my notes\\x", "nfs4"),
        ("/mnt/my notes\\x/agents", "nfs4"),
        ("/mnt/my notes\\x/deep/agents", "xfs"),
        ("/mnt/my notes\\xy", "tmpfs"),
    ],
)
def test_the_innermost_mount_decides(path: str, kind: str) -> None:
    """Blanks and backslashes of a mount point are escaped in the list, and nowhere else."""
    assert find_file_system(path, LINES) == kind


def test_a_later_mount_hides_an_earlier_one_at_the_same_place() -> None:
    """The list is in the order of mounting."""
    hidden = [*LINES, "40 31 0:50 / /mnt rw - ramfs ramfs rw"]
    assert find_file_system("/mnt/other", hidden) == "ramfs"
