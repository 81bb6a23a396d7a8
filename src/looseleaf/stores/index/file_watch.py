"""Notification of changes to files: Linux inotify, called through ctypes.

The kernel queues an event before the system call that made the change returns. So a reader of the
queue learns of every earlier change, however it was made; only a write through a memory map is
reported when the program closes the map.
"""

from __future__ import annotations

import ctypes
import os
import select
import struct

from looseleaf.files.mounts import MOUNTS, file_system_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

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
