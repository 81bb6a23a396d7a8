"""Copying the pages of a shelf, each together with its history.

A page and its history are one group, read under the lock of the page, so that the page in the copy
agrees with the last line of its log. The lock is held while small files are read, at most about a
megabyte; larger files are read after it is released. A file of a history is only ever replaced or
appended to: the copy takes the bytes that the same file had under the lock. If another file is
in its place by then, the group is read again.
"""

from __future__ import annotations

import os

from looseleaf.files import atomic
from looseleaf.files.file_copies import CHUNK, FileGroup, Place, copy_open_file, open_plain
from looseleaf.files.file_writers import wait_for_writers
from looseleaf.files.folders import explain_os_error
from looseleaf.stores.disk.copies.folder_copies import NOT_PLAIN, list_folder
from looseleaf.stores.disk.history_names import HISTORY
from looseleaf.times import now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.files.file_copies import FileCopy
    from looseleaf.stores.disk.copies.folder_copies import FolderCopies

_NO_FOLDER = -1
_RECENT_SECONDS = 5.0  # a program may still be saving a page that changed within this time


class ShelfCopies:
    """The groups of one shelf: `folder` holds its pages, `history` their histories, both open.

    Either may be missing, and is -1 then.
    """

    def __init__(
        self, copies: FolderCopies, folder: int, path: bytes, history: int, shelf_name: str
    ) -> None:
        self._copies = copies
        self._folder, self._path = folder, path
        self._history = history
        self._history_path = os.fsencode(f"{HISTORY}/{shelf_name}")

    def groups(self) -> Iterator[FileGroup]:
        """Yield every group, the notes about the histories first: they must not be newer."""
        if self._history >= 0:
            for name, _is_folder, is_file in list_folder(self._history):
                if is_file:
                    path = self._history_path + b"/" + os.fsencode(name)
                    yield self._copies.group_of(self._history, name, path)
        seen_keys = set()
        if self._folder >= 0:
            for folder, name, path in self._copies.walk(self._folder, self._path):
                if not name:
                    yield self._copies.group_of(folder, name, path)
                    continue
                key = os.fsdecode(path[len(self._path) + 1 :]).replace("/", ":")
                seen_keys.add(key)
                yield self._group_page(folder, name, path, key)
        if self._history >= 0:
            yield from self._group_remaining(seen_keys)

    def _group_remaining(self, seen_keys: set[str]) -> Iterator[FileGroup]:
        """Yield the histories of pages that were not listed: deleted ones, or written since."""
        for key, is_folder, _is_file in list_folder(self._history):
            if not is_folder or key in seen_keys:
                continue
            *folders, name = key.split(":")
            folder = self._open_inner(folders)
            try:
                path = b"/".join((self._path, *map(os.fsencode, folders), os.fsencode(name)))
                yield self._group_page(folder, name, path, key)
            finally:
                if folder >= 0:
                    os.close(folder)

    def _open_inner(self, segments: list[str]) -> int:
        if self._folder < 0:
            return _NO_FOLDER
        folder = os.dup(self._folder)
        try:
            for segment in segments:
                inner = os.open(segment, atomic.FOLDER, dir_fd=folder)
                os.close(folder)
                folder = inner
        except OSError:
            os.close(folder)
            return _NO_FOLDER
        return folder

    def _group_page(self, folder: int, name: str, path: bytes, key: str) -> FileGroup:
        def read(hold: bool) -> Iterator[FileCopy]:  # noqa: FBT001 - as a group has it
            page_history = self._open_history(key)
            if page_history < 0:
                if folder >= 0:
                    yield from self._copies.group_of(folder, name, path).read_copies(hold)
                return
            try:
                atomic.lock(page_history, os.fsdecode(path))
                page = self._read_page(folder, name, path)
                copies = [*page, *self._read_history(page_history, key)]
                if not hold:
                    atomic.unlock(page_history)
                yield from copies
            finally:
                os.close(page_history)

        return FileGroup(read, self._copies.progress)

    def _open_history(self, key: str) -> int:
        if self._history < 0:
            return _NO_FOLDER
        try:
            return os.open(key, atomic.FOLDER, dir_fd=self._history)
        except (FileNotFoundError, NotADirectoryError):
            return _NO_FOLDER
        except OSError as error:
            raise explain_os_error(f"The history of {key}", error) from error

    def _read_page(self, folder: int, name: str, path: bytes) -> Iterator[FileCopy]:
        if folder < 0:
            return
        try:
            fd = open_plain(folder, name)
        except FileNotFoundError:
            return
        copy = None
        if fd >= 0:
            try:
                status = os.fstat(fd)
                if now() - status.st_mtime < _RECENT_SECONDS:
                    wait_for_writers(fd)
                    status = os.fstat(fd)
                copy = copy_open_file(fd, Place(folder, name, path), status)
            finally:
                os.close(fd)
        if copy is None:
            self._copies.leave_out(path, NOT_PLAIN)
        else:
            yield copy

    def _read_history(self, page_history: int, key: str) -> Iterator[FileCopy]:
        """Read the files of a history, whatever their names; the page is locked.

        Files beyond a megabyte in all are read when the lock is released.
        """
        remaining_size = CHUNK
        base = self._history_path + b"/" + os.fsencode(key)
        for name in sorted(os.listdir(page_history)):
            path = base + b"/" + os.fsencode(name)
            fd = open_plain(page_history, name)
            copy = None
            if fd >= 0:
                try:
                    place = Place(page_history, name, path)
                    copy = copy_open_file(
                        fd, place, os.fstat(fd), limit=remaining_size, is_locked=True
                    )
                finally:
                    os.close(fd)
            if copy is None:
                self._copies.leave_out(path, NOT_PLAIN)
            else:
                remaining_size -= copy.size if copy.size <= remaining_size else 0
                yield copy
