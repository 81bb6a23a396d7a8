"""Folders to publish to: only those of the settings, only outside of memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf.errors import InvalidArgument, InvalidName, InvalidSetting, Refused, Unsafe
from looseleaf.features.workflows.resources import DiskPublishFolders
from looseleaf.settings import Settings


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Create a folder outside of the workspace."""
    (tmp_path / "site").mkdir()
    return tmp_path / "site"


def folders(root: Path, **paths: str) -> DiskPublishFolders:
    """Return the folders of settings."""
    return DiskPublishFolders(Settings(root=str(root), publish_folders=tuple(paths.items())))


def test_a_file_is_written_below_the_folder(root: Path, site: Path) -> None:
    """For others to read; folders in between are made."""
    allowed = folders(root, site=str(site))
    assert allowed.write("site", "2026/news.md", b"text", replace=False) == "2026/news.md"
    assert (site / "2026/news.md").read_bytes() == b"text"
    assert (site / "2026/news.md").stat().st_mode & 0o777 == 0o644


def test_a_file_with_another_text_is_not_replaced_unasked(root: Path, site: Path) -> None:
    """The same text again is no change, so a step may run twice."""
    allowed = folders(root, site=str(site))
    allowed.write("site", "a.md", b"one", replace=False)
    before = (site / "a.md").stat()
    allowed.write("site", "a.md", b"one", replace=False)
    assert (site / "a.md").stat().st_ino == before.st_ino
    with pytest.raises(Refused, match="another text"):
        allowed.write("site", "a.md", b"two", replace=False)
    assert (site / "a.md").read_bytes() == b"one"
    allowed.write("site", "a.md", b"two", replace=True)
    assert (site / "a.md").read_bytes() == b"two"


@pytest.mark.parametrize("name", ["../x.md", "/etc/x", "a/../../x", ".htaccess", "", "a\x00b"])
def test_a_name_stays_below_the_folder(root: Path, site: Path, name: str) -> None:
    """The names of files keep the rules of pages."""
    with pytest.raises(InvalidName):
        folders(root, site=str(site)).write("site", name, b"x", replace=True)


def test_a_link_in_the_folder_is_not_followed(root: Path, site: Path, tmp_path: Path) -> None:
    """Whoever may write there cannot lead us elsewhere."""
    (tmp_path / "elsewhere").mkdir()
    (site / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Unsafe):
        folders(root, site=str(site)).write("site", "link/x.md", b"x", replace=True)


def test_only_folders_of_the_settings_are_known(root: Path, site: Path) -> None:
    """The error names those there are."""
    with pytest.raises(InvalidArgument, match="it names: site"):
        folders(root, site=str(site)).write("other", "a.md", b"x", replace=True)
    with pytest.raises(InvalidSetting, match="create it first"):
        folders(root, site=str(site / "missing")).write("site", "a.md", b"x", replace=True)


@pytest.mark.parametrize("path", [".", "agents/ada", "..", "/"])
def test_a_folder_is_outside_of_memory(root: Path, path: str) -> None:
    """Publishing is no way around the rules of pages."""
    with pytest.raises(InvalidSetting, match="overlaps the workspace"):
        folders(root, site=path).write("site", "a.md", b"x", replace=True)
