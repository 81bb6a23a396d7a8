"""Lock files: a running process holds each, so that other processes notice when it has died."""

from __future__ import annotations

import os

from looseleaf.errors import Locked
from looseleaf.files import atomic
from looseleaf.files.folders import OsErrorContext, open_folder

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW


class LockFiles:
    """A folder of lock files below a root folder."""

    def __init__(self, root: str, path: str, *, modes: tuple[int, int] = (0o600, 0o700)) -> None:
        self._root, self._path = root, path
        self._file_mode, self._folder_mode = modes

    def hold(self, name: str) -> HeldFile:
        """Create a lock file and hold it until it is closed, or the process dies."""
        with OsErrorContext(name):
            folder = self._open()
            try:
                file, _inode = atomic.stage(folder, name, b"", mode=self._file_mode)
            except BaseException:
                os.close(folder)
                raise
            held_file = HeldFile(folder, file, name)
            try:
                atomic.lock(file, name, seconds=0.0)
            except BaseException:
                os.close(file)
                os.close(folder)
                raise
            return held_file

    def is_free(self, name: str) -> bool | None:
        """Return whether no process holds a lock file, or None if there is no such file."""
        with OsErrorContext(name):
            folder = self._open()
            try:
                file = os.open(name, _READ, dir_fd=folder)
            except FileNotFoundError:
                return None
            finally:
                os.close(folder)
            try:
                atomic.lock(file, name, seconds=0.0)
            except Locked:
                return False
            finally:
                os.close(file)
            return True

    def remove(self, name: str) -> None:
        """Remove a lock file that nobody holds."""
        with OsErrorContext(name):
            folder = self._open()
            try:
                atomic.remove(folder, name)
            finally:
                os.close(folder)

    def _open(self) -> int:
        root = os.open(self._root, atomic.FOLDER)
        try:
            return open_folder(root, self._path.split("/"), create=self._folder_mode)
        finally:
            os.close(root)


class HeldFile:
    """A lock file that this process holds."""

    def __init__(self, folder: int, file: int, name: str) -> None:
        self._folder, self._file, self._name = folder, file, name

    def close(self) -> None:
        """Remove the file and release the lock."""
        if self._file >= 0:
            atomic.remove(self._folder, self._name)
            os.close(self._file)
            os.close(self._folder)
            self._file = -1
