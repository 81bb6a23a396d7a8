"""Files as they are copied out of a folder that others may change meanwhile."""

from __future__ import annotations

import errno
import os
import stat
from typing import NamedTuple, Protocol

from looseleaf.files.folders import NO_FILE, READ, explain_os_error, open_page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

CHUNK = 1 << 20


class CopyChanged(Exception):
    """A file was replaced, removed or written to while its group was copied; copy it again."""


class FileCopy(NamedTuple):
    """One file of a copy: its path below the root, and its bytes, to be read once and in order.

    If the file is already read, `chunks` is a tuple.
    An empty folder is a copy, too: `is_folder` is True, and it has no bytes.
    """

    path: bytes
    file_mode: int
    mtime: int
    size: int
    chunks: Iterable[bytes]
    is_folder: bool = False


class FileGroup(NamedTuple):
    """Files that belong together, such as a page and its history.

    `read_copies` returns the copies, or raises `CopyChanged` if a file has changed meanwhile; then
    the whole group is read again. With True, it locks writers out until the last copy is read.
    `progress` is the number of steps that are done, and the number of all steps.
    """

    read_copies: Callable[[bool], Iterator[FileCopy]]
    progress: tuple[int, int]


class FileSource(Protocol):
    """The files of a workspace, for a copy that is consistent while others write."""

    left_out: list[str]

    def groups(self, scratch: str) -> Iterator[FileGroup]:
        """Yield every group in order; `scratch` is a folder for files of the copy itself."""


def copy_file(folder: int, name: str, path: bytes) -> FileCopy | None:
    """Read a file of an open folder, at once if it is small, or None if it is no plain file.

    Raise FileNotFoundError if it is gone, `CopyChanged` if it is being written to. The folder
    stays open until the bytes of the copy are read.
    """
    fd = open_plain(folder, name)
    if fd < 0:
        return None
    try:
        return copy_open_file(fd, Place(folder, name, path), os.fstat(fd))
    finally:
        os.close(fd)


def open_plain(folder: int, name: str) -> int:
    """Open a file of an open folder for reading; return `NO_FILE` for a link or a socket."""
    try:
        return os.open(name, READ, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EMLINK):
            return NO_FILE
        raise explain_os_error(f"The file {name}", error) from error


class Place(NamedTuple):
    """Where a file lies, and the path that its copy gets: `inner` is its path below `folder`."""

    folder: int
    inner: str
    path: bytes


def copy_open_file(
    fd: int, place: Place, status: os.stat_result, *, limit: int = CHUNK, is_locked: bool = False
) -> FileCopy | None:
    """Copy an open file as `copy_file` does; up to the size `limit`, it is read at once.

    A larger file is read later, and must still be the same file then. A file of ours that is
    locked cannot change while it is read. `status` is the status of the open file.
    """
    if not stat.S_ISREG(status.st_mode):
        return None
    size = status.st_size
    chunks: Iterable[bytes] = ()
    if size > limit:
        chunks = _read_chunks(place, status)
    elif size:
        content = os.read(fd, size + 1)
        after = status if is_locked else os.fstat(fd)
        if (len(content), after.st_size, after.st_mtime_ns) != (size, size, status.st_mtime_ns):
            raise CopyChanged(os.fsdecode(place.path))
        chunks = (content,)
    return FileCopy(place.path, stat.S_IMODE(status.st_mode), int(status.st_mtime), size, chunks)


def _read_chunks(place: Place, before: os.stat_result) -> Iterator[bytes]:
    """Read the bytes that a file had before, and none that were appended since."""
    label = os.fsdecode(place.path)
    try:
        fd = open_page(place.folder, place.inner)
    except FileNotFoundError:
        raise CopyChanged(label) from None
    try:
        status = os.fstat(fd)
        is_untouched = status.st_mtime_ns == before.st_mtime_ns
        is_longer = status.st_size > before.st_size
        if status.st_ino != before.st_ino or not (is_untouched or is_longer):
            raise CopyChanged(label)
        remaining = before.st_size
        while remaining:
            chunk = os.read(fd, min(remaining, CHUNK))
            if not chunk:
                raise CopyChanged(label)
            remaining -= len(chunk)
            yield chunk
    finally:
        os.close(fd)
