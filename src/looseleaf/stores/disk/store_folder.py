"""The contract of a disk store for its own parts: folder, modes, clock and last writes."""

from __future__ import annotations

import os

from looseleaf.files.folders import is_settled
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from looseleaf.files.root_folder import RootFolder
    from looseleaf.memory.store import Found, Retention
    from looseleaf.stores.disk.history.log_line import Line

    Key = tuple[int | str, str]
else:
    Protocol = object


class StoreFolder(Protocol):
    """The folder of a disk store, as its parts open it."""

    root: str
    root_folder: RootFolder
    modes: tuple[int, int]
    clock: Callable[[], float]
    recent_writes: RecentWrites
    retention: Retention

    def open_own(self, *segments: str) -> int | None:
        """Open a folder below the root, if it is there; the caller closes it."""

    def release(self) -> None:
        """Release all folders: later reads look for the folder of a shelf again."""


# The newest writes of this process to a few pages, so that the next write need not read.


_PAGES = 64
_MOST_RECENT_BYTES = 100_000


@value
class Write:
    """One write: the line that was added to the log, the log after it, and the page's bytes."""

    line: Line
    log: tuple[int, int, int]
    content: bytes

    def is_last(self, status: os.stat_result) -> bool:
        """Return whether the log, by its status, still ends with this write.

        A log only grows or becomes another file; its time tells files with the same inode apart.
        """
        return self.log == (status.st_ino, status.st_size, status.st_mtime_ns)


class RecentWrites:
    """The newest write of this process to each of a few pages, by the page's name in staging."""

    def __init__(self) -> None:
        self._writes: dict[str, Write] = {}

    def find(self, page: str) -> Write | None:
        """Return the newest write of a page, if it is remembered."""
        return self._writes.get(page)

    def remember(self, page: str, line: Line, log: os.stat_result, content: bytes) -> None:
        """Keep a write; `log` is the status of the log after it."""
        if len(content) > _MOST_RECENT_BYTES:
            self._writes.pop(page, None)
            return
        if len(self._writes) >= _PAGES:
            self._writes.clear()
        self._writes[page] = Write(line, (log.st_ino, log.st_size, log.st_mtime_ns), content)


# A cache of pages, valid while their files have not changed.


_CACHE_BYTES = 16_000_000


class CachedPage:
    """A page that was read, with the time and the number that its file had then."""

    __slots__ = ("change_time", "inode", "page")

    def __init__(self, page: Found, status: os.stat_result) -> None:
        self.page = page
        self.change_time, self.inode = status.st_ctime_ns, status.st_ino

    def is_unchanged(self, path: str) -> bool:
        """Return whether the file at a path is the one that was read, untouched since."""
        try:
            status = os.lstat(path)
        except OSError:
            return False  # the next read reports the reason
        return status.st_ino == self.inode and status.st_ctime_ns == self.change_time


class PageCache:
    """Pages by shelf and name.

    The path is no key: a folder may belong to another agent later, which must not get these pages.
    """

    def __init__(self) -> None:
        self.pages: dict[Key, CachedPage] = {}
        self._bytes = 0

    def remember(self, key: Key, page: Found, *, status: os.stat_result, read_time: int) -> None:
        """Keep a page that was read, with the status its file had at that time."""
        # A file touched a moment ago may change again without its time changing.
        if not is_settled(status.st_ctime_ns, read_time) or len(page.content) > _CACHE_BYTES // 8:
            return
        if self._bytes > _CACHE_BYTES:
            self.pages.clear()
            self._bytes = 0
        self._bytes += len(page.content)
        self.pages[key] = CachedPage(page, status)
