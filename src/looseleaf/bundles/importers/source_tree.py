"""The files of a source: the contract for every kind of source, and a folder of this machine."""

from __future__ import annotations

import errno
import os
import stat

from looseleaf.errors.bundles import ImportSourceMissing
from looseleaf.files.atomic import FOLDER
from looseleaf.files.folders import READ, open_folder
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final, Protocol
else:
    Protocol = object

FILE: Final = "file"
SUBFOLDER: Final = "folder"
LINK: Final = "link"
OTHER: Final = "other"  # a device, a socket, a pipe
_CHUNK = 1_048_576
_ATTEMPTS = 3


@value
class TreeEntry:
    """A name in a folder, and what it is: file, folder, link or other."""

    name: str
    kind: str


class SourceTree(Protocol):
    """Folders and files by relative paths with `/`; nothing is trusted, and nothing is written."""

    @property
    def path(self) -> str:
        """The place of the tree, for messages."""

    @property
    def single(self) -> str:
        """The name of the single file; "" for the whole tree."""

    def scan(self, folder: str) -> Iterator[TreeEntry]:
        """Yield the entries of a folder, or raise `OSError`."""

    def read(self, path: str, limit: int) -> bytes | None:
        """Read a file up to one byte more than `limit`, or None if it is no ordinary file."""


class DiskTree:
    """A folder or a single file of this machine; no link is followed below it."""

    def __init__(self, path: str) -> None:
        self.path, self.single = os.path.realpath(path), ""
        if os.path.isfile(self.path):
            self.path, self.single = os.path.split(self.path)
        if not os.path.isdir(self.path):
            raise ImportSourceMissing(path)

    def scan(self, folder: str) -> Iterator[TreeEntry]:
        """Yield the entries of a folder; of the folder around a single file, only that one."""
        if self.single:
            if not folder:
                yield TreeEntry(self.single, FILE)
            return
        with _OpenFolder(self.path, folder) as fd, os.scandir(fd) as entries:
            for entry in entries:
                yield TreeEntry(entry.name, _find_kind(entry))

    def read(self, path: str, limit: int) -> bytes | None:
        """Read a file; a device or pipe that took its place meanwhile is not waited for.

        A file that changes while it is read is read again; raise `OSError` if it keeps changing.
        """
        folder_path, _, name = path.rpartition("/")
        for _ in range(_ATTEMPTS):
            with _OpenFolder(self.path, folder_path) as folder:
                fd = os.open(name, READ | os.O_NONBLOCK, dir_fd=folder)
            try:
                before = os.fstat(fd)
                if not stat.S_ISREG(before.st_mode):
                    return None
                content = self.read_open(fd, limit)
                after = os.fstat(fd)
            finally:
                os.close(fd)
            if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
                return content
        raise OSError(errno.EAGAIN, "it changes while it is read")

    def read_open(self, fd: int, limit: int) -> bytes:
        """Read an open file up to one byte more than `limit`."""
        parts, size = [], 0
        while size <= limit and (part := os.read(fd, min(limit + 1 - size, _CHUNK))):
            parts.append(part)
            size += len(part)
        return b"".join(parts)


def _find_kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return LINK
    if entry.is_dir(follow_symlinks=False):
        return SUBFOLDER
    return FILE if entry.is_file(follow_symlinks=False) else OTHER


class _OpenFolder:
    """A folder below the source, opened part by part without following a link."""

    def __init__(self, root: str, path: str) -> None:
        self._root, self._segments = root, path.split("/") if path else []

    def __enter__(self) -> int:
        root = os.open(self._root, FOLDER & ~os.O_NOFOLLOW)
        try:
            self._fd = open_folder(root, self._segments)
        finally:
            os.close(root)
        return self._fd

    def __exit__(self, *_outcome: object) -> None:
        os.close(self._fd)
