"""A cache of pages, valid while their files have not changed."""

from __future__ import annotations

import os

from looseleaf.files.folders import is_settled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.memory.store import Found

    Key = tuple[int | str, str]

_BYTES = 16_000_000


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
        if not is_settled(status.st_ctime_ns, read_time) or len(page.content) > _BYTES // 8:
            return
        if self._bytes > _BYTES:
            self.pages.clear()
            self._bytes = 0
        self._bytes += len(page.content)
        self.pages[key] = CachedPage(page, status)
