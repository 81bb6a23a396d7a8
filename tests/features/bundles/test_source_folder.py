"""Folders of other systems are read within limits, and no link is followed."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from looseleaf.errors.features import ImportSourceMissing, InvalidImport
from looseleaf.features.bundles.source_tree import DiskTree, SourceFolder, SourceLimits, TreeEntry
from looseleaf.features.imports.sources import choose_importer
from tests.features.imports.sources import write_tree


def test_a_folder_is_listed_and_read(tmp_path: Path) -> None:
    """Files come by name; a mark of UTF-8 at the beginning is no text."""
    write_tree(tmp_path, {"b.md": "b\n", "a.md": "\ufeffa\n", "sub/c.md": "c\n"})
    folder = SourceFolder(str(tmp_path))
    assert list(folder.walk()) == ["a.md", "b.md", "sub/c.md"]
    assert folder.read("a.md") == "a\n"
    assert folder.has_file("sub/c.md")
    assert folder.has_folder("sub")
    assert not folder.has_file("sub")
    assert folder.refusals == []


def test_a_single_file_is_a_source(tmp_path: Path) -> None:
    """Its neighbors are not looked at."""
    write_tree(tmp_path, {"memory.jsonl": "{}\n", "other.md": "x\n"})
    folder = SourceFolder(str(tmp_path / "memory.jsonl"))
    assert folder.files() == ["memory.jsonl"]
    assert folder.location == str(tmp_path / "memory.jsonl")


def test_a_missing_source_is_an_error(tmp_path: Path) -> None:
    """The error names the path."""
    with pytest.raises(ImportSourceMissing, match="nowhere"):
        SourceFolder(str(tmp_path / "nowhere"))


def test_links_are_not_followed(tmp_path: Path) -> None:
    """Neither to a file nor to a folder; each is named."""
    outside = write_tree(tmp_path / "outside", {"secret.md": "a secret\n"})
    source = write_tree(tmp_path / "source", {"a.md": "a\n"})
    (source / "file.md").symlink_to(outside / "secret.md")
    (source / "folder").symlink_to(outside)
    folder = SourceFolder(str(source))
    assert list(folder.walk()) == ["a.md"]
    assert {entry.source for entry in folder.refusals} == {"file.md", "folder"}
    assert folder.read("file.md") is None
    assert folder.read("folder/secret.md") is None


def test_what_is_no_text_is_named(tmp_path: Path) -> None:
    """Zero bytes, another encoding, and a pipe, which would never end."""
    (tmp_path / "binary.md").write_bytes(b"a\0b")
    (tmp_path / "latin.md").write_bytes(b"caf\xe9\n")
    os.mkfifo(tmp_path / "pipe.md")
    folder = SourceFolder(str(tmp_path))
    assert [folder.read(file) for file in folder.walk()] == [None, None]
    reasons = {entry.source: entry.reason for entry in folder.refusals}
    assert reasons == {
        "binary.md": "it is not text",
        "latin.md": "it is not UTF-8 (byte 3)",
        "pipe.md": "it is not an ordinary file",
    }


def test_a_name_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    """The report shows its bytes."""
    try:
        (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("x\n")
    except OSError:
        pytest.skip("this file system takes names in UTF-8 alone")
    folder = SourceFolder(str(tmp_path))
    assert list(folder.walk()) == []
    assert [entry.source for entry in folder.refusals] == ["caf\\xe9.md"]


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    """A file of exactly the limit is."""
    write_tree(tmp_path, {"fits.md": "x" * 10, "large.md": "x" * 11})
    folder = SourceFolder(str(tmp_path), limits=SourceLimits(file_bytes=10))
    assert folder.read("fits.md") == "x" * 10
    assert folder.read("large.md") is None
    assert [entry.reason for entry in folder.refusals] == ["it has more than 10 bytes"]


def test_a_source_that_is_too_large_is_refused(tmp_path: Path) -> None:
    """Nothing is imported from it, and the error says what to do."""
    write_tree(tmp_path, {"a.md": "x" * 10, "b.md": "x" * 10})
    folder = SourceFolder(str(tmp_path), limits=SourceLimits(bytes=15))
    folder.read("a.md")
    with pytest.raises(InvalidImport, match="Import a part"):
        folder.read("b.md")


def test_a_deep_tree_ends(tmp_path: Path) -> None:
    """Folders below the limit are named, not entered."""
    write_tree(tmp_path, {"1/2/3/4/deep.md": "x\n", "1/near.md": "x\n"})
    folder = SourceFolder(str(tmp_path), limits=SourceLimits(depth=2))
    assert list(folder.walk()) == ["1/near.md"]
    assert [entry.source for entry in folder.refusals] == ["1/2/3/"]


def test_a_folder_with_too_many_entries_ends(tmp_path: Path) -> None:
    """The rest is not looked at, and the report says so."""
    write_tree(tmp_path, {f"{number}.md": "x\n" for number in range(20)})
    folder = SourceFolder(str(tmp_path), limits=SourceLimits(entries=5))
    assert len(list(folder.walk())) == 5
    assert "more than 5 entries" in folder.refusals[0].reason


def test_hidden_folders_are_named_and_not_entered(tmp_path: Path) -> None:
    """A repository inside a source stays out."""
    write_tree(tmp_path, {".git/config": "x\n", "a.md": "a\n"})
    folder = SourceFolder(str(tmp_path))
    assert list(folder.walk()) == ["a.md"]
    assert [entry.source for entry in folder.refusals] == [".git/"]


class FailingTree:
    """A tree that cannot be read, as one without permission is for everyone but root."""

    path, single = "/srv/closed", ""

    def scan(self, folder: str) -> Iterator[TreeEntry]:
        """Refuse as the system does."""
        raise PermissionError(errno.EACCES, "Permission denied", folder)

    def read(self, path: str, limit: int) -> bytes | None:
        """Refuse as the system does."""
        raise PermissionError(errno.EACCES, f"Permission denied ({limit})", path)


def test_a_folder_without_permission_is_said_to_be_so() -> None:
    """And not taken for an unknown layout."""
    with pytest.raises(InvalidImport, match=r"/srv/closed cannot be imported.*Permission denied"):
        choose_importer(SourceFolder(FailingTree()))


class WritingTree(DiskTree):
    """A folder in which another program writes as often as it is told, while a file is read."""

    def __init__(self, path: str, writes: int) -> None:
        super().__init__(path)
        self._writes = writes

    def read_open(self, fd: int, limit: int) -> bytes:
        """Read a file, and let the other program write before the end."""
        content = super().read_open(fd, limit)
        if self._writes:
            self._writes -= 1
            with Path(self.path, "log.md").open("a") as log:
                log.write("more\n")
        return content


def test_a_file_that_changes_while_it_is_read(tmp_path: Path) -> None:
    """It is read again; a writer that never rests is named, and its file is not read half."""
    (tmp_path / "log.md").write_text("first\n")
    folder = SourceFolder(WritingTree(str(tmp_path), 2))
    assert folder.read("log.md") == "first\nmore\nmore\n"
    folder = SourceFolder(WritingTree(str(tmp_path), 99))
    assert folder.read("log.md") is None
    assert "changes while it is read" in folder.refusals[0].reason


def test_a_file_that_became_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """The listing is older than the content."""
    (tmp_path / "a.md").write_text("a\n")
    (tmp_path / "gone.md").write_text("a\n")
    folder = SourceFolder(str(tmp_path))
    assert folder.files() == ["a.md", "gone.md"]
    (tmp_path / "a.md").unlink()
    (tmp_path / "gone.md").unlink()
    os.mkfifo(tmp_path / "a.md")
    assert folder.read("a.md") is None
    assert folder.read("gone.md") is None
    reasons = {entry.source: entry.reason for entry in folder.refusals}
    assert reasons["a.md"] == "it is not an ordinary file"
    assert "No such file" in reasons["gone.md"]
