"""Opening files and folders below a root, without following a link out of it."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys

from looseleaf.errors import DiskFull, LooseleafError, Unavailable, Unsafe, WorkspaceUnavailable
from looseleaf.errors.pages import NameTaken
from looseleaf.files import atomic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

# Without O_NONBLOCK, opening a named pipe that someone put in place of a page waits for ever.
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
NO_FILE = -1
PRIVATE = (0o600, 0o700)  # modes of files and folders
GROUP = (0o660, 0o2770)  # new files belong to the group of their folder
# How long the result of a check of the disk stays valid, if checking each time costs too much.
MOMENT_SECONDS = 0.05
_CHUNK = 65_536
_GET_PATH = 50  # F_GETPATH on macOS


class OsErrorContext:
    """Turn errors of the operating system inside a `with` block into our own."""

    __slots__ = ("label",)

    def __init__(self, label: str) -> None:
        self.label = label

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if isinstance(error, OSError) and not isinstance(error, LooseleafError):
            raise explain_os_error(self.label, error) from error


def explain_os_error(label: str, error: OSError) -> LooseleafError:
    """Choose the error that says what an operating system's error means for a page."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(label)
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return Unsafe(label, "a link or a file stands where a folder of pages should be")
    if error.errno == errno.EXDEV:
        return Unsafe(label, "it lies on another file system than the workspace")
    return Unavailable(label, error.strerror or error)


def open_folder(root: int, segments: Sequence[str], *, create: int = 0, twins: bool = False) -> int:
    """Open a directory below another, segment by segment; `create` is the mode of new ones.

    Raise FileNotFoundError if a segment is missing and `create` is 0, `NameTaken` if a new name
    would differ from another one only by case or Unicode form, unless `twins` are allowed.
    """
    folder = os.dup(root)
    try:
        for segment in segments:
            child = _open_segment(folder, segment, create, twins=twins)
            os.close(folder)
            folder = child
    except BaseException:
        os.close(folder)
        raise
    return folder


def open_straight(path: str) -> int | None:
    """Open a directory in one step, with a third of the system calls of opening it by segments.

    None if it is missing, or a link may have led to it; then it must be opened by segments.
    """
    try:
        fd = os.open(path, atomic.FOLDER)
    except OSError:
        return None
    if stands_at(fd, path):
        return fd
    os.close(fd)
    return None


def _open_segment(folder: int, segment: str, create: int, *, twins: bool) -> int:
    try:
        return os.open(segment, atomic.FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
        if not twins:
            refuse_twin(folder, segment)
        atomic.create_folder(folder, segment, mode=create)
        return os.open(segment, atomic.FOLDER, dir_fd=folder)


def casefold_name(name: str) -> str:
    """Return the key under which names that differ only by case or Unicode form are the same."""
    if name.isascii():
        return name.lower()
    import unicodedata

    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def refuse_twin(folder: int, name: str) -> None:
    """Raise `NameTaken` if a name already there differs only by case or Unicode form."""
    key = casefold_name(name)
    for existing_name in os.listdir(folder):
        if existing_name != name and casefold_name(existing_name) == key:
            raise NameTaken(name, existing_name)


def open_page(root: int, path: str) -> int:
    """Open a file below a root for reading, following no link in any part of its path."""
    *folders, name = path.split("/")
    folder = open_folder(root, folders)
    try:
        return os.open(name, READ, dir_fd=folder)
    finally:
        os.close(folder)


def open_page_at(root: str, path: str) -> int:
    """Open a page below a root: in one step if that can be proved safe, else part by part."""
    full_path = f"{root}/{path}"
    try:
        fd = os.open(full_path, READ)
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise
    else:
        if stands_at(fd, full_path):
            return fd
        os.close(fd)
    root_fd = open_root(root)
    try:
        return open_page(root_fd, path)
    finally:
        os.close(root_fd)


def open_root(root: str) -> int:
    """Open the root folder of a workspace; the caller closes it."""
    try:
        return os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise WorkspaceUnavailable(f"there is no folder {root}") from None
    except OSError as error:
        raise explain_os_error("The workspace", error) from error


def stands_at(fd: int, path: str) -> bool:
    """Return whether an open file is the one at this path, reached through no link.

    This takes one system call, not one for each part of the path. The answer is also False when
    the file has been replaced since; then the caller opens it part by part.
    """
    try:
        if sys.platform == "darwin":
            actual = fcntl.fcntl(fd, _GET_PATH, bytes(1024)).rstrip(b"\0")
            return os.fsdecode(actual) == path
        return os.readlink(f"/proc/self/fd/{fd}") == path
    except OSError:
        return False


def inode_of(folder: int, name: str) -> int:
    """Return the inode number of the file with a name, or `NO_FILE` if there is none."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_ino
    except FileNotFoundError:
        return NO_FILE


def read_all(fd: int, size: int = -1) -> bytes:
    """Read a file to its end; it may have changed since its `size` was taken.

    If `size` is still right, no further read is needed to find the end.
    """
    first = os.read(fd, size + 1 if 0 <= size < _CHUNK else _CHUNK)
    if len(first) < _CHUNK and (len(first) == size or not os.read(fd, 1)):
        return first
    os.lseek(fd, 0, os.SEEK_SET)
    parts = []
    while part := os.read(fd, 16 * _CHUNK):
        parts.append(part)
    return b"".join(parts)


def check_regular(label: str, status: os.stat_result, device: int) -> None:
    """Refuse anything but an ordinary file on the workspace's own file system."""
    if not stat.S_ISREG(status.st_mode):
        raise Unsafe(label, "it is not an ordinary file")
    if status.st_dev != device:
        raise Unsafe(label, "it lies on another file system than the workspace")


def is_settled(change_time: int, present: int) -> bool:
    """Return whether the next change of a file is sure to give it another change time (both in ns).

    File systems count time in steps: up to 10 ms on Linux, one or two seconds on older ones. A file
    that changes twice within a step looks the same both times ("racy", as git says).
    """
    step = 50_000_000 if change_time % 1_000_000_000 else 2_100_000_000
    return present - change_time > step
