"""Uploaded files on disk: streamed, bounded, named safely, and never behind a link."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from looseleaf.errors import InvalidName, Unsafe
from looseleaf.errors.features import FileMissing, InvalidUpload
from looseleaf.errors.pages import NameTaken, TooLarge
from looseleaf.features.workflows.uploads import PART_BYTES, FileFolder, FileLimits, UploadFolders
from looseleaf.files.folders import PRIVATE
from looseleaf.files.root_folder import RootFolder

CONTEXT, FLOW = FileFolder(3), FileFolder(3, 7)
LIMITS = FileLimits(5_000_000, 3, (".txt", ".pdf"))


@pytest.fixture
def files(tmp_path: Path) -> UploadFolders:
    """Return the files of an empty root."""
    return UploadFolders(RootFolder(str(tmp_path)), PRIVATE)


def test_files_lie_where_the_seeds_say(files: UploadFolders, tmp_path: Path) -> None:
    """Private, and apart for pipelines and flows."""
    assert files.list(CONTEXT) == []
    files.put(CONTEXT, "brief.txt", [b"a", b"b"], LIMITS)
    files.put(FLOW, "input.pdf", [b"%PDF"], LIMITS)
    context = tmp_path / "pipeline-3" / "context" / "brief.txt"
    flow = tmp_path / "pipeline-3" / "flow-7" / "flow-7-files" / "input.pdf"
    assert (context.read_bytes(), flow.read_bytes()) == (b"ab", b"%PDF")
    assert stat.S_IMODE(context.stat().st_mode) == 0o600
    assert stat.S_IMODE(context.parent.stat().st_mode) == 0o700
    assert [(file.name, file.size) for file in files.list(CONTEXT)] == [("brief.txt", 2)]


def test_a_large_file_is_never_whole_in_memory(files: UploadFolders) -> None:
    """It is taken and given part by part."""
    largest = 0

    def parts() -> Iterator[bytes]:
        nonlocal largest
        for number in range(4):
            part = bytes([number]) * PART_BYTES
            largest = max(largest, len(part))
            yield part

    stored = files.put(FLOW, "big.txt", parts(), LIMITS)
    assert (stored.size, largest) == (4 * PART_BYTES, PART_BYTES)
    given = list(files.read(FLOW, "big.txt"))
    assert [len(part) for part in given] == [PART_BYTES] * 4
    assert [part[0] for part in given] == [0, 1, 2, 3]


def test_an_upload_that_fails_leaves_what_was_there(files: UploadFolders, tmp_path: Path) -> None:
    """Too large, or broken off: the old bytes, and no trace of the new ones."""
    files.put(CONTEXT, "a.txt", [b"old"], LIMITS)
    with pytest.raises(TooLarge):
        files.put(CONTEXT, "a.txt", [b"x" * 3_000_000] * 2, LIMITS)

    def broken() -> Iterator[bytes]:
        yield b"new"
        raise ConnectionError

    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever breaks it off
        files.put(CONTEXT, "a.txt", broken(), LIMITS)
    assert os.listdir(tmp_path / "pipeline-3" / "context") == ["a.txt"]
    assert b"".join(files.read(CONTEXT, "a.txt")) == b"old"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("../x.txt", InvalidName),
        ("a/b.txt", InvalidName),
        (".x.txt", InvalidName),
        ("con.txt", InvalidName),
        ("x.exe", InvalidUpload),
        ("x", InvalidUpload),
        ("", InvalidName),
        ("a\0.txt", InvalidName),
    ],
)
def test_a_name_that_is_not_safe_is_refused(
    files: UploadFolders, name: str, error: type[Exception]
) -> None:
    """By the one validator, and by the allowed types."""
    with pytest.raises(error):
        files.put(CONTEXT, name, [b"x"], LIMITS)
    assert files.list(CONTEXT) == []


def test_a_folder_has_a_bound_and_no_twins(files: UploadFolders) -> None:
    """A file of the same name is replaced, and counts once."""
    for name in ("a.txt", "b.txt", "c.txt", "a.txt"):
        files.put(CONTEXT, name, [b"x"], LIMITS)
    with pytest.raises(InvalidUpload, match="3 files"):
        files.put(CONTEXT, "d.txt", [b"x"], LIMITS)
    with pytest.raises((NameTaken, InvalidUpload)):
        files.put(CONTEXT, "A.txt", [b"x"], LIMITS)


def test_links_are_neither_followed_nor_given(files: UploadFolders, tmp_path: Path) -> None:
    """In the place of a file, and of a folder."""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    files.put(CONTEXT, "a.txt", [b"x"], LIMITS)
    link = tmp_path / "pipeline-3" / "context" / "link.txt"
    link.symlink_to(secret)
    assert [file.name for file in files.list(CONTEXT)] == ["a.txt"]
    with pytest.raises(Unsafe):
        list(files.read(CONTEXT, "link.txt"))
    files.put(CONTEXT, "link.txt", [b"mine"], LIMITS)
    assert secret.read_text() == "secret"
    (tmp_path / "pipeline-9").symlink_to(tmp_path / "pipeline-3")
    with pytest.raises(Unsafe):
        files.list(FileFolder(9))
    with pytest.raises(Unsafe):
        files.put(FileFolder(9), "x.txt", [b"x"], LIMITS)


def test_files_are_deleted_one_by_one_or_all(files: UploadFolders, tmp_path: Path) -> None:
    """What is not there is said; jobs beside the files of a flow stay."""
    for name in ("a.txt", "b.txt"):
        files.put(FLOW, name, [b"x"], LIMITS)
    job = tmp_path / "pipeline-3" / "flow-7" / "jobs" / "job-1" / "data.json"
    job.parent.mkdir(parents=True)
    job.write_text("[]")
    files.delete(FLOW, "a.txt")
    for name in ("a.txt", "../b.txt", ".hidden"):
        with pytest.raises(FileMissing):
            files.delete(FLOW, name)
        with pytest.raises(FileMissing):
            list(files.read(FLOW, name))
    assert files.remove_all(FLOW) == 1
    assert files.remove_all(FLOW) == files.remove_all(FileFolder(99)) == 0
    assert job.read_text() == "[]"
