"""Folders of bundles: nothing outside them is read, and they are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from looseleaf.errors import Invalid, LooseleafError
from looseleaf.errors.features import InvalidArchive
from looseleaf.features.bundles.bundle_files import read_archive, read_folder, write_folder
from looseleaf.features.bundles.zip_archive import ZipLimits

FILES = {"manifest.json": b"{}", "memory/agent/SOUL.md": b"# Soul\n"}


def test_a_folder_is_written_and_read(tmp_path: Path) -> None:
    """The files come back, hidden ones such as .git do not."""
    write_folder(str(tmp_path / "out"), FILES)
    (tmp_path / "out/.git").mkdir()
    (tmp_path / "out/.git/config").write_text("x")
    assert read_folder(str(tmp_path / "out")) == FILES


def test_a_link_in_a_folder_is_refused(tmp_path: Path) -> None:
    """Neither a linked file nor a linked folder is followed out of the bundle."""
    (tmp_path / "secret.md").write_text("secret")
    for name in ("memory/agent/stolen.md", "extras"):
        folder = tmp_path / name.replace("/", "-")
        write_folder(str(folder), FILES)
        target = tmp_path if name == "extras" else tmp_path / "secret.md"
        (folder / name).symlink_to(target)
        with pytest.raises(InvalidArchive, match="link"):
            read_folder(str(folder))


def test_pipes_and_limits_are_refused(tmp_path: Path) -> None:
    """A pipe in the folder, a file too large, and too many files."""
    write_folder(str(tmp_path / "out"), FILES)
    for limits in (ZipLimits(file_bytes=3), ZipLimits(files=1), ZipLimits(depth=2)):
        with pytest.raises(InvalidArchive):
            read_folder(str(tmp_path / "out"), limits)
    os.mkfifo(tmp_path / "out/pipe")
    with pytest.raises(InvalidArchive, match="ordinary"):
        read_folder(str(tmp_path / "out"))
    with pytest.raises(LooseleafError):
        read_folder(str(tmp_path / "gone"))
    (tmp_path / "large.zip").write_bytes(bytes(11))
    with pytest.raises(InvalidArchive):
        read_archive(str(tmp_path / "large.zip"), ZipLimits(archive_bytes=10))


def test_a_failed_write_leaves_the_former_folder(tmp_path: Path) -> None:
    """A name that cannot be written stops the export before anything is replaced."""
    write_folder(str(tmp_path / "out"), FILES)
    with pytest.raises(Invalid):
        write_folder(str(tmp_path / "out"), {**FILES, "../x": b""}, replace=True)
    assert read_folder(str(tmp_path / "out")) == FILES
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
