"""The pages below a folder and their file signatures, found without reading the pages."""

from __future__ import annotations

import ctypes
import os
import select
import stat
import struct

from looseleaf.errors import InvalidName
from looseleaf.files import atomic
from looseleaf.files.mounts import MOUNTS, file_system_of
from looseleaf.memory.scope import MAX_DEPTH, check_filename
from looseleaf.memory.search.substring import describe_freshness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Signature = tuple[int, int, int, int]


# Notification of changes to files: Linux inotify, called through ctypes.
# The kernel queues an event before the system call that made the change returns. So a reader of
# the queue learns of every earlier change, however it was made; only a write through a memory
# map is reported when the program closes the map.


# File systems that change through this machine's kernel alone, if it reports every change.
LOCAL = frozenset(
    ("bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "tmpfs", "xfs", "zfs")
)
_MAX_WATCHES = "/proc/sys/fs/inotify/max_user_watches"
_SHARE = 4  # other programs of this user need watches, too

_MODIFY, _ATTRIBUTES, _CLOSE_WRITE = 0x2, 0x4, 0x8
_ENTRIES = 0x40 | 0x80 | 0x100 | 0x200  # moved from, moved to, created, deleted
_SELF = 0x400 | 0x800  # deleted, moved
_UNMOUNTED, _OVERFLOWN, _IGNORED = 0x2000, 0x4000, 0x8000
_ONLY_FOLDERS, _NO_LINKS, _IS_FOLDER = 0x0100_0000, 0x0200_0000, 0x4000_0000
_FOLDER = _ATTRIBUTES | _ENTRIES | _SELF | _ONLY_FOLDERS | _NO_LINKS
# Pages are watched one by one: a write through another name of the same file (a hard link) is
# reported for the file, but not for the folder.
_PAGE = _MODIFY | _ATTRIBUTES | _CLOSE_WRITE | _NO_LINKS
_EVENT = struct.Struct("iIII")


class CannotWatch(Exception):
    """The system does not allow watches, or not as many."""


def is_local(path: str) -> bool:
    """Return whether only this machine can change the file system of a folder."""
    kind = file_system_of(path)
    # Without a list of mounts (not Linux) nothing is watched, and every file is checked.
    return not kind or kind in LOCAL


class Watch:
    """Watches folders and pages, and names the pages that may have changed since the last call."""

    def __init__(self) -> None:
        self._descriptors: list[int] = []
        self._folders: dict[int, str] = {}
        self._pages: dict[int, set[str]] = {}
        self._numbers: dict[str, int] = {}
        try:
            with open(_MAX_WATCHES, encoding="ascii") as file:
                self._free_watches = int(file.read()) // _SHARE
            library = ctypes.CDLL(None, use_errno=True)
            self._add, self._remove = library.inotify_add_watch, library.inotify_rm_watch
            self._queue = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
            if self._queue < 0:
                raise CannotWatch(os.strerror(ctypes.get_errno()))
            self._descriptors.append(self._queue)
            self._mounts = os.open(MOUNTS, os.O_RDONLY | os.O_CLOEXEC)
            self._descriptors.append(self._mounts)
        except (OSError, AttributeError, ValueError) as error:
            self.close()
            raise CannotWatch(str(error)) from error
        self._poll = select.poll()
        self._poll.register(self._queue, select.POLLIN)
        # A mount over a folder hides its pages without an event; the list of mounts shows it.
        self._poll.register(self._mounts, select.POLLPRI)

    def close(self) -> None:
        """Stop watching."""
        while self._descriptors:
            os.close(self._descriptors.pop())

    def watch_folder(self, path: str, prefix: str) -> None:
        """Watch a folder; its pages' names begin with the prefix."""
        number = self._add_watch(path, _FOLDER)
        if number >= 0:
            self._folders[number] = prefix

    def watch_page(self, path: str, name: str) -> None:
        """Watch the present file of a page instead of its former file."""
        number = self._add_watch(path, _PAGE)
        if number != self._numbers.get(name):
            self.drop(name)
            if number >= 0:
                self._numbers[name] = number
                self._pages.setdefault(number, set()).add(name)

    def drop(self, name: str) -> None:
        """Stop watching a page."""
        number = self._numbers.pop(name, None)
        names = self._pages.get(number, set()) if number is not None else set()
        names.discard(name)
        if number is not None and not names and self._pages.pop(number, None) is not None:
            self._remove(self._queue, number)
            self._free_watches += 1

    def poll_changes(self) -> set[str] | None:
        """Name the pages that may have changed or gone, or None if all must be checked."""
        ready = self._poll.poll(0)
        if any(descriptor == self._mounts for descriptor, _ in ready):
            return None
        names: set[str] = set()
        for number, mask, name in self._read_events() if ready else ():
            if mask & (_UNMOUNTED | _OVERFLOWN):
                return None
            if number in self._folders:
                if name.startswith("."):
                    continue
                if not name or mask & _IS_FOLDER:
                    return None
                names.add(self._folders[number] + name)
            else:
                names |= self._pages.get(number, set())
                if mask & _IGNORED:
                    self._forget(number)
        return names

    def _add_watch(self, path: str, mask: int) -> int:
        """Add a watch and return its number; negative if the file no longer exists."""
        number: int = self._add(self._queue, os.fsencode(path), mask)
        if number < 0:
            code = ctypes.get_errno()
            if code in (2, 20):  # ENOENT, ENOTDIR: the removal has queued an event
                return number
            raise CannotWatch(os.strerror(code))
        if number not in self._pages and number not in self._folders:
            self._free_watches -= 1
            if self._free_watches < 0:
                raise CannotWatch("too many files")
        return number

    def _forget(self, number: int) -> None:
        for name in self._pages.pop(number, set()):
            del self._numbers[name]
        self._free_watches += 1

    def _read_events(self) -> Iterator[tuple[int, int, str]]:
        while True:
            try:
                events = os.read(self._queue, 65_536)
            except BlockingIOError:
                return
            offset = 0
            while offset < len(events):
                number, mask, _, size = _EVENT.unpack_from(events, offset)
                offset += _EVENT.size + size
                yield number, mask, os.fsdecode(events[offset - size : offset].rstrip(b"\0"))


def identify_folder(folder: str) -> tuple[int, int] | None:
    """Return device and inode of a folder, or None if a link leads there."""
    if os.path.realpath(folder) != folder:
        return None
    status = os.lstat(folder)
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None


def holds_at_least(folder: str, minimum: int) -> bool:
    """Return whether a folder has at least this number of files below it."""
    file_count, folders = 0, [folder]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    file_count += 1
        if file_count >= minimum:
            return True
    return False


class Tree:
    """The pages below one folder and their signatures, kept up to date by checking or watching.

    The first refresh only checks every file; from the second refresh on, the process watches them.
    """

    def __init__(self, folder: str, *, may_watch: bool = True) -> None:
        self.folder = folder
        self.identity = identify_folder(folder)
        self.pages: dict[str, Signature] = {}
        self._watch: Watch | None = None
        self._may_watch = may_watch and is_local(folder)
        self._was_swept = False

    @property
    def freshness(self) -> str:
        """A text that says how fresh the signatures are."""
        if self._watch is not None:
            files = "1 file" if len(self.pages) == 1 else f"{len(self.pages)} files"
            return f"every change seen (watching {files})"
        return describe_freshness(len(self.pages), "checked")

    def is_same(self) -> bool:
        """Return whether the path still leads to the same folder."""
        try:
            return self.identity is not None and identify_folder(self.folder) == self.identity
        except OSError:
            return False

    def refresh(self) -> set[str] | None:
        """Update the signatures; name the pages that may differ, or None for all."""
        names = self._watch.poll_changes() if self._watch is not None else None
        if names is None:
            self._sweep()
            return None
        for name in names:
            self.check_page(name)
        return names

    def check_page(self, name: str) -> Signature | None:
        """Check one page now; return None if it does not exist."""
        path = f"{self.folder}/{name}"
        try:
            if self._watch is not None and is_page(name):
                self._watch.watch_page(path, name)
        except CannotWatch:
            self._unwatch(for_good=True)
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            status = None
        if status is None or not stat.S_ISREG(status.st_mode) or not is_page(name):
            self.pages.pop(name, None)
            if self._watch is not None:
                self._watch.drop(name)
            return None
        self.pages[name] = _signature_of(status)
        return self.pages[name]

    def close(self) -> None:
        """Stop watching."""
        self._unwatch()

    def _unwatch(self, *, for_good: bool = False) -> None:
        if self._watch is not None:
            self._watch.close()
        self._watch = None
        self._may_watch = self._may_watch and not for_good

    def _sweep(self) -> None:
        """Check every file; from the second time on, watch each file before the check."""
        self._unwatch()
        if self._was_swept and self._may_watch:
            try:
                self._watch = Watch()
                self.pages = self._walk()
                return
            except CannotWatch:
                self._unwatch(for_good=True)
        self.pages = self._walk()
        self._was_swept = True

    def _walk(self) -> dict[str, Signature]:
        pages: dict[str, Signature] = {}
        self._visit(os.open(self.folder, atomic.FOLDER), "", pages)
        return pages

    def _visit(self, folder: int, prefix: str, pages: dict[str, Signature]) -> None:
        """Check the files of an open directory and of those in it, and close it."""
        try:
            if self._watch is not None:
                self._watch.watch_folder(f"{self.folder}/{prefix}".rstrip("/"), prefix)
            subfolders = []
            with os.scandir(folder) as entries:
                for entry in entries:
                    name = prefix + entry.name
                    if name in self.pages or is_page(name):
                        status = self._status_of(entry, folder, name)
                        if status is not None and stat.S_ISREG(status.st_mode):
                            pages[name] = _signature_of(status)
                            continue
                    if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                        subfolders.append(entry.name)
            for segment in subfolders if prefix.count("/") < MAX_DEPTH else ():
                self._visit_subfolder(folder, segment, prefix, pages)
        finally:
            os.close(folder)

    def _visit_subfolder(
        self, folder: int, segment: str, prefix: str, pages: dict[str, Signature]
    ) -> None:
        try:
            subfolder = os.open(segment, atomic.FOLDER, dir_fd=folder)
        except FileNotFoundError:
            return
        self._visit(subfolder, f"{prefix}{segment}/", pages)

    def _status_of(self, entry: os.DirEntry[str], folder: int, name: str) -> os.stat_result | None:
        try:
            if self._watch is None:
                return entry.stat(follow_symlinks=False)
            self._watch.watch_page(f"{self.folder}/{name}", name)
            # The status of the entry may be older than the watch.
            return os.stat(entry.name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None


def is_page(name: str) -> bool:
    """Return whether a file of this name can be a page."""
    try:
        check_filename(name)
    except InvalidName:
        return False
    return True


def _signature_of(status: os.stat_result) -> Signature:
    # SQLite's integers are signed, inode numbers are not.
    inode = status.st_ino & 0x7FFF_FFFF_FFFF_FFFF
    return inode, status.st_ctime_ns, status.st_mtime_ns, status.st_size
