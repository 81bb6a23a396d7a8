"""The root folder of a workspace: which one was opened, and whether it is still there.

A disk that is unmounted leaves an empty folder behind, and another disk may be mounted in its
place. Neither is the workspace. A workspace has an id, in `.looseleaf/workspace`, by which it is
recognized when it comes back on another device.
"""

from __future__ import annotations

import os
import stat
import time

from looseleaf.errors import WorkspaceUnavailable
from looseleaf.files import atomic
from looseleaf.files.folders import MOMENT_SECONDS, READ, open_folder, read_all
from looseleaf.settings import FILE

IDENTITY = ".looseleaf/workspace"
_Mark = tuple[int, int, int]
_NO_PLACE = (0, 0)
_NEVER = float("-inf")


class RootFolder:
    """The folder that everything of a workspace lies in, as it was when it was opened."""

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path)
        self._place = _NO_PLACE  # its device and its inode number
        self._check_time = _NEVER
        self._settings = f"{self.path}/{FILE}"
        self._settings_number = _number_of(self._settings)
        self._settings_mark: _Mark | None = (
            None  # of the settings file, when a check found no fault
        )
        self._identity = read_identity(self.path)
        try:
            self._place = _place_of(os.stat(self.path))
        except OSError:
            return  # it is not there yet; the first call that needs it reports that

    def check_available_cached(self) -> None:
        """Check as `require` does, at most every 50 ms: for calls that cost little themselves.

        A call that finds nothing must call `require` before it reports that.
        """
        now = time.monotonic()
        if now - self._check_time >= MOMENT_SECONDS:
            self.require()
            self._check_time = now

    def require(self) -> int:
        """Raise `WorkspaceUnavailable` unless the workspace that was opened is at its path now.

        Return the number of the device that the workspace lies on.
        """
        mark = _mark_of(self._settings)
        # The same settings file as before, untouched, lies in the same folder as before.
        if mark is None or mark != self._settings_mark:
            try:
                self._check(os.stat(self.path), _number_of(self._settings))
            except (FileNotFoundError, NotADirectoryError):
                raise WorkspaceUnavailable(f"there is no folder {self.path}") from None
            except OSError as error:
                raise WorkspaceUnavailable(f"{self.path}: {error.strerror}") from error
            self._settings_mark = mark
        return self._place[0]

    def open(self) -> int:
        """Open the folder, if it is the workspace that was opened; the caller closes it."""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            raise WorkspaceUnavailable(f"there is no folder {self.path}") from None
        except OSError as error:
            raise WorkspaceUnavailable(f"{self.path}: {error.strerror}") from error
        try:
            self._check(os.fstat(fd), _number_of(FILE, fd))
        except OSError as error:
            os.close(fd)
            raise WorkspaceUnavailable(f"{self.path}: {error.strerror}") from error
        except BaseException:
            os.close(fd)
            raise
        return fd

    def ensure_identity(self, modes: tuple[int, int]) -> None:
        """Store an id for the workspace, unless it has one."""
        if self._identity:
            return
        home, _, name = IDENTITY.partition("/")
        root = self.open()
        try:
            folder = open_folder(root, (home,), create=modes[1])
        finally:
            os.close(root)
        try:
            atomic.lock(folder, "The folder .looseleaf")
            if not read_identity(self.path):
                identity = f"{os.urandom(16).hex()}\n".encode()
                staging = (folder, f"{name}:making")
                atomic.replace(folder, name, identity, mode=modes[0], staging=staging)
            self._identity = read_identity(self.path)
        finally:
            os.close(folder)

    def _check(self, status: os.stat_result, settings_number: int) -> None:
        place = _place_of(status)
        if not settings_number and self._settings_number:
            reason = (
                "its disk may not be mounted" if place != self._place else "its content is gone"
            )
            raise WorkspaceUnavailable(f"{self.path} has no {FILE} any more; {reason}")
        if not stat.S_ISDIR(status.st_mode):
            raise WorkspaceUnavailable(f"{self.path} is no folder")
        if place == self._place:
            return
        if self._place != _NO_PLACE and not self._is_same_workspace(place, settings_number):
            raise WorkspaceUnavailable(f"another folder is at {self.path} than the one opened")
        self._place, self._settings_number = place, settings_number

    def _is_same_workspace(self, place: tuple[int, int], settings_number: int) -> bool:
        """Return whether a folder at this path is the same workspace, by its id if it has one."""
        if self._identity:
            return read_identity(self.path) == self._identity
        same_files = (place[1], settings_number) == (self._place[1], self._settings_number)
        return bool(settings_number) and same_files


def read_identity(root: str) -> str:
    """Read the id of the workspace at a folder, or "" if it has none."""
    try:
        fd = os.open(f"{root}/{IDENTITY}", READ)
    except OSError:
        return ""
    try:
        return read_all(fd).decode("ascii", "replace").strip()
    except OSError:
        return ""
    finally:
        os.close(fd)


def _place_of(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _mark_of(path: str) -> _Mark | None:
    """Return numbers that identify a version of a file or link, or None if there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns


def _number_of(name: str, folder: int | None = None) -> int:
    """Return the inode number of a file, or 0 if there is none."""
    try:
        return os.stat(name, dir_fd=folder).st_ino
    except (FileNotFoundError, NotADirectoryError):
        return 0
