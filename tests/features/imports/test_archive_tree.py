"""Uploads as trees: folders of an archive, its limits, names that hurt nobody, a single file."""

from __future__ import annotations

import stat
import zipfile
from io import BytesIO

import pytest

from looseleaf.errors.features import InvalidArchive, InvalidImport
from looseleaf.features.bundles.source_tree import SourceFolder
from looseleaf.features.imports.sources import ArchiveTree, open_upload
from tests.features.imports.archives import build_zip


def test_an_archive_is_a_folder() -> None:
    """Files and folders by name; hidden ones stay hidden, and litter of packing is not there."""
    content = build_zip(
        {
            "SOUL.md": "# Soul\n",
            "memory/2026-03-01.md": "- Rain\n",
            "memory/.dreams/state.json": "{}",
            "__MACOSX/._SOUL.md": "x",
            "memory/.DS_Store": "x",
            "memory/Notes.md": "a",
            "memory/notes.md": "b",
        }
    )
    folder = SourceFolder(open_upload("pip.zip", content))
    assert list(folder.walk()) == [
        "SOUL.md",
        "memory/2026-03-01.md",
        "memory/Notes.md",
        "memory/notes.md",
    ]
    assert folder.read("memory/2026-03-01.md") == "- Rain\n"
    assert [entry.source for entry in folder.refusals] == ["memory/.dreams/"]
    assert folder.location == "pip.zip"


def test_a_single_folder_around_everything_is_entered() -> None:
    """As often as there is one."""
    tree = ArchiveTree("a.zip", build_zip({"x/y/SOUL.md": "s", "x/y/z/a.md": "a"}))
    assert tree.enter_single_folder()
    assert tree.enter_single_folder()
    assert not tree.enter_single_folder()
    assert SourceFolder(tree).has_file("SOUL.md")
    assert SourceFolder(tree).name == "y"


@pytest.mark.parametrize("name", ["../out.md", "/etc/passwd", "a//b.md", "a/./b.md", "a\\b.md"])
def test_a_path_that_leaves_the_archive_is_refused(name: str) -> None:
    """The whole archive, with the name."""
    info = zipfile.ZipInfo("placeholder.md")
    info.filename = name
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(info, "x")
    with pytest.raises(InvalidArchive):
        open_upload("a.zip", buffer.getvalue())


def test_a_link_in_an_archive_is_refused() -> None:
    """Nothing is read through it."""
    info = zipfile.ZipInfo("SOUL.md")
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(InvalidArchive, match="link"):
        open_upload("a.zip", buffer.getvalue())


def test_a_file_that_is_too_large_is_left_out() -> None:
    """It is not unpacked further than a page may be long; the others are read."""
    files = {"a.md": "a" * 2_100_000, "b.md": "b"}
    folder = SourceFolder(open_upload("a.zip", build_zip(files, method=zipfile.ZIP_STORED)))
    assert folder.read("a.md") is None
    assert folder.read("b.md") == "b"
    assert "more than 2,000,000 bytes" in folder.refusals[0].reason


def test_a_zip_bomb_is_refused() -> None:
    """By its ratio, before it is unpacked."""
    with pytest.raises(InvalidArchive, match="times its size"):
        open_upload("a.zip", build_zip({"a.md": b"0" * 10_000_000}))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"not a zip"])
def test_what_is_no_archive_is_refused(content: bytes) -> None:
    """With one clear error."""
    with pytest.raises(InvalidArchive):
        open_upload("a.zip", content)


def test_a_single_file() -> None:
    """It keeps its name, without the folders that some browsers send."""
    folder = SourceFolder(open_upload("C:\\notes\\CLAUDE.md", b"# Rules\n"))
    assert folder.files() == ["CLAUDE.md"]
    assert folder.read("CLAUDE.md") == "# Rules\n"
    assert folder.read("other.md") is None
    with pytest.raises(InvalidImport, match="file name"):
        open_upload("notes/", b"x")
