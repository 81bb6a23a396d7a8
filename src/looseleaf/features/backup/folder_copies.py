"""Copies of folders, agents and pages, file by file; links and devices are left out."""

from __future__ import annotations

import errno
import os
import stat
from typing import NamedTuple, Protocol

from looseleaf.agents.record import parse_record
from looseleaf.files import atomic
from looseleaf.files.folders import (
    NO_FILE,
    READ,
    explain_os_error,
    open_folder,
    open_page,
    read_all,
)
from looseleaf.files.mounts import wait_for_writers
from looseleaf.stores.disk.agent_records import DELETED_FOLDER, NEW, RECORD, REGISTER
from looseleaf.stores.disk.listing import HISTORY
from looseleaf.times import now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Progress = tuple[int, int]


# Files as they are copied out of a folder that others may change meanwhile.


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


NOT_PLAIN = "it is a link or a device"
_MOST_DEPTH, _MOST_NOTES = 64, 10_000
_FOLDER_MODE = 0o700


class FolderCopies:
    """Gives groups of one file each, for everything below an open folder."""

    def __init__(self, left_out: list[str], progress: Progress) -> None:
        self.left_out, self.progress = left_out, progress

    def leave_out(self, path: bytes, reason: str) -> None:
        """Record a file that cannot be copied, up to a limit of notes."""
        if len(self.left_out) < _MOST_NOTES:
            self.left_out.append(f"{os.fsdecode(path)}: {reason}")

    def walk(self, folder: int, path: bytes, depth: int = 0) -> Iterator[tuple[int, str, bytes]]:
        """Yield every file that can be copied: its open folder, its name, and its path."""
        device = os.fstat(folder).st_dev
        for name, is_folder, is_file in list_folder(folder):
            inner_path = path + b"/" + os.fsencode(name)
            if is_file:
                yield folder, name, inner_path
            elif not is_folder:
                self.leave_out(inner_path, NOT_PLAIN)
            elif depth >= _MOST_DEPTH:
                self.leave_out(inner_path, f"it lies more than {_MOST_DEPTH} folders deep")
            else:
                yield from self._walk_inner(folder, name, inner_path, device, depth + 1)

    def _walk_inner(
        self, folder: int, name: str, path: bytes, device: int, depth: int
    ) -> Iterator[tuple[int, str, bytes]]:
        try:
            inner = os.open(name, atomic.FOLDER, dir_fd=folder)
        except (FileNotFoundError, NotADirectoryError):
            return  # moved or removed since it was listed
        try:
            if os.fstat(inner).st_dev != device:
                self.leave_out(path, "it lies on another file system")
                return
            is_empty = True
            for entry in self.walk(inner, path, depth):
                is_empty = False
                yield entry
            if is_empty and not os.listdir(inner):
                yield inner, "", path
        finally:
            os.close(inner)

    def groups(self, folder: int, path: bytes) -> Iterator[FileGroup]:
        """Yield a group for each file below a folder."""
        for entry in self.walk(folder, path):
            yield self.group_of(*entry)

    def group_of(self, folder: int, name: str, path: bytes) -> FileGroup:
        """Return the group of one file; without a name, of an empty folder."""

        def read(_hold: bool) -> Iterator[FileCopy]:  # noqa: FBT001 - as a group has it
            if not name:
                yield FileCopy(path, _FOLDER_MODE, 0, 0, (), is_folder=True)
                return
            try:
                copy = copy_file(folder, name, path)
            except FileNotFoundError:
                return  # removed since it was listed
            if copy is None:
                self.leave_out(path, NOT_PLAIN)
            else:
                yield copy

        return FileGroup(read, self.progress)


def list_folder(folder: int) -> list[tuple[str, bool, bool]]:
    """List the entries of an open folder by name: name, whether a folder, whether a file."""
    with os.scandir(folder) as entries:
        return sorted(
            (entry.name, entry.is_dir(follow_symlinks=False), entry.is_file(follow_symlinks=False))
            for entry in entries
        )


# Where the agents of a workspace lie at one moment, so that all of them are copied as they
# were.
# An agent that is renamed, deleted or restored while a copy is made moves to another folder. It
# is found again by the inode number of its folder, and copied under the name that it had.


AGENTS = "agents"
_SUBJECT = "The folder of agents"
_NO_ID = 0


class AgentPlace(NamedTuple):
    """The folder of an agent, present or deleted: `parent` is the path of the folder it lies in."""

    parent: str
    name: str
    inode: int
    agent_id: int  # 0 if it has no record that can be read


class AgentPlaces(NamedTuple):
    """All folders of agents and the register, as they were at one moment."""

    places: list[AgentPlace]
    register: FileCopy | None
    left_out: list[str]


def list_agent_places(root: int) -> AgentPlaces:
    """Look at the agents while none of them can be created, moved or deleted."""
    agents = _open(root, AGENTS)
    if agents is None:
        return AgentPlaces([], None, [])
    places: list[AgentPlace] = []
    left_out: list[str] = []
    try:
        atomic.lock(agents, _SUBJECT)
        for parent in (AGENTS, DELETED_FOLDER):
            folder = _open(root, parent)
            if folder is None:
                continue
            try:
                for name, is_folder, is_file in list_folder(folder):
                    if is_folder and name != NEW:
                        places.append(_look_at(folder, parent, name))
                    elif not is_folder and not is_file:
                        left_out.append(f"{parent}/{name}: it is a link or a device")
            finally:
                os.close(folder)
        try:
            register = copy_file(agents, REGISTER, os.fsencode(f"{AGENTS}/{REGISTER}"))
        except FileNotFoundError:
            register = None
    finally:
        os.close(agents)
    return AgentPlaces(places, register, left_out)


def open_place(root: int, place: AgentPlace) -> int | None:
    """Open the folder of an agent, wherever it lies now, or None if it no longer exists."""
    folder = _open(root, f"{place.parent}/{place.name}")
    if folder is not None:
        if os.fstat(folder).st_ino == place.inode:
            return folder
        os.close(folder)
    for parent in (AGENTS, DELETED_FOLDER):
        name = _find_name(root, parent, place.inode)
        if name:
            return _open(root, f"{parent}/{name}")
    return None


def find_moved_record(root: int, place: AgentPlace) -> FileCopy | None:
    """Read the record of an agent that was deleted meanwhile and whose pages stayed."""
    if place.agent_id == _NO_ID:
        return None
    deleted = _open(root, f"{DELETED_FOLDER}/{place.agent_id}-{place.name}")
    if deleted is None:
        return None
    try:
        return copy_file(deleted, RECORD, os.fsencode(f"{place.parent}/{place.name}/{RECORD}"))
    except FileNotFoundError:
        return None
    finally:
        os.close(deleted)


def has_record(folder: int) -> bool:
    """Return whether an open folder has the record of an agent."""
    try:
        os.stat(RECORD, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _look_at(folder: int, parent: str, name: str) -> AgentPlace:
    inner = open_folder(folder, (name,))
    try:
        return AgentPlace(parent, name, os.fstat(inner).st_ino, _read_id(inner))
    finally:
        os.close(inner)


def _read_id(folder: int) -> int:
    try:
        fd = os.open(RECORD, READ, dir_fd=folder)
    except OSError:
        return _NO_ID
    try:
        return parse_record("", read_all(fd)).id
    except (ValueError, KeyError, TypeError):
        return _NO_ID
    finally:
        os.close(fd)


def _find_name(root: int, parent: str, inode: int) -> str:
    """Find the folder with an inode number, or "" if there is none."""
    folder = _open(root, parent)
    if folder is None:
        return ""
    try:
        with os.scandir(folder) as entries:
            return next((entry.name for entry in entries if entry.inode() == inode), "")
    finally:
        os.close(folder)


def _open(folder: int, path: str) -> int | None:
    try:
        return open_folder(folder, path.split("/"))
    except (FileNotFoundError, NotADirectoryError):
        return None


# Copying the pages of a shelf, each together with its history.
# A page and its history are one group, read under the lock of the page, so that the page in the
# copy agrees with the last line of its log. The lock is held while small files are read, at
# most about a megabyte; larger files are read after it is released. A file of a history is only
# ever replaced or appended to: the copy takes the bytes that the same file had under the lock.
# If another file is in its place by then, the group is read again.


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
