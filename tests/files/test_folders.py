"""Opening what lies below a root, and saying in our words what the system says."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from looseleaf.errors import DiskFull, Unavailable, Unsafe
from looseleaf.errors.pages import NameTaken
from looseleaf.files.folders import (
    NO_FILE,
    READ,
    OsErrorContext,
    explain_os_error,
    inode_of,
    open_folder,
    open_page,
    read_all,
    refuse_twin,
    stands_at,
)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    """Yield an open folder that has a page in a folder, a link to it and a link out."""
    (tmp_path / "root/notes").mkdir(parents=True)
    (tmp_path / "root/notes/page.md").write_bytes(b"text")
    (tmp_path / "root/link").symlink_to("notes")
    (tmp_path / "root/out").symlink_to(tmp_path)
    fd = os.open(tmp_path / "root", os.O_RDONLY)
    yield fd
    os.close(fd)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (errno.ENOSPC, DiskFull),
        (errno.EDQUOT, DiskFull),
        (errno.ELOOP, Unsafe),
        (errno.ENOTDIR, Unsafe),
        (errno.EXDEV, Unsafe),
        (errno.EIO, Unavailable),
        (errno.EROFS, Unavailable),
        (errno.EACCES, Unavailable),
        (errno.EMFILE, Unavailable),
    ],
)
def test_errors_of_the_system_are_told_in_our_words(code: int, kind: type[Exception]) -> None:
    """Each error says which page it is about and what it means for it."""
    error = OSError(code, os.strerror(code))
    assert type(explain_os_error("MEMORY.md", error)) is kind
    with pytest.raises(kind, match=r"MEMORY\.md") as caught, OsErrorContext("MEMORY.md"):
        raise error
    assert caught.value.__cause__ is error


def test_other_errors_pass_unchanged() -> None:
    """What is ours already, or no error of the system, is not told twice."""
    for error in (Unsafe("a.md", "a link"), KeyError("x")):
        with pytest.raises(type(error)) as caught, OsErrorContext("MEMORY.md"):
            raise error
        assert caught.value is error


def test_folders_are_opened_part_by_part(folder: int, tmp_path: Path) -> None:
    """A folder is found, made with the mode asked for, or missed; a link is not followed."""
    os.close(open_folder(folder, ["notes"]))
    os.close(open_folder(folder, ["a", "b"], create=0o750))
    assert (tmp_path / "root/a/b").stat().st_mode & 0o777 == 0o750
    with pytest.raises(FileNotFoundError):
        open_folder(folder, ["notes", "none"])
    for way in (["link"], ["out"], ["out", "root"], ["notes", "page.md"]):
        with pytest.raises(OSError, match=r"Not a directory|symbolic link") as caught:
            open_folder(folder, way)
        assert caught.value.errno in (errno.ELOOP, errno.ENOTDIR)


def test_twins_are_refused_unless_they_are_welcome(folder: int) -> None:
    """A folder whose name differs only by case is not made beside the other, except our own."""
    with pytest.raises(NameTaken):
        open_folder(folder, ["NOTES", "x"], create=0o700)
    os.close(open_folder(folder, ["NOTES", "x"], create=0o700, twins=True))
    refuse_twin(folder, "elsewhere")
    with pytest.raises(NameTaken, match="Use notes"):
        refuse_twin(folder, "nOtEs")


def test_pages_are_opened_through_no_link(folder: int) -> None:
    """A page is opened by its own path only."""
    fd = open_page(folder, "notes/page.md")
    assert read_all(fd) == b"text"
    os.close(fd)
    for path in ("link/page.md", "out/root/notes/page.md"):
        with pytest.raises(OSError, match=r"Not a directory|symbolic link"):
            open_page(folder, path)


def test_a_file_knows_where_it_stands(tmp_path: Path, folder: int) -> None:
    """A file opened through a link, renamed or removed since, does not stand where one thinks."""
    page = tmp_path.resolve() / "root/notes/page.md"
    fd = os.open(page, READ)
    assert stands_at(fd, str(page))
    assert inode_of(folder, "notes") == page.parent.stat().st_ino
    page.rename(page.with_name("moved.md"))
    assert not stands_at(fd, str(page))
    os.close(fd)
    linked = os.open(tmp_path / "root/link/moved.md", READ)
    assert not stands_at(linked, str(tmp_path / "root/link/moved.md"))
    os.close(linked)
    assert not stands_at(-1, str(page))
    assert inode_of(folder, "none") == NO_FILE


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 3_000_000])
def test_a_file_is_read_to_its_end(tmp_path: Path, size: int) -> None:
    """Whatever its size."""
    (tmp_path / "file").write_bytes(os.urandom(size))
    fd = os.open(tmp_path / "file", READ)
    assert read_all(fd) == (tmp_path / "file").read_bytes()
    os.close(fd)
