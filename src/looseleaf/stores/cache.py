"""What was read of pages, for as long as their files have not changed."""

from __future__ import annotations

import os

from looseleaf.folders import settled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.memory.store import Found

    Key = tuple[int | str, str]

_BYTES = 16_000_000


class PageCache:
    """Pages by shelf and name, each with the time and inode its file had when it was read.

    Not by path: what one agent has read from a folder must not be given to the next one there.
    """

    def __init__(self) -> None:
        self.pages: dict[Key, tuple[int, int, Found]] = {}
        self._bytes = 0

    def unchanged(self, key: Key, path: str) -> Found | None:
        """Give a page again if the file at its path is the one that was read, untouched since."""
        kept = self.pages.get(key)
        if kept is None:
            return None
        try:
            status = os.lstat(path)
        except OSError:
            return None  # reading anew tells what is wrong
        return kept[2] if (status.st_ctime_ns, status.st_ino) == kept[:2] else None

    def remember(self, key: Key, page: Found, *, status: os.stat_result, asked: int) -> None:
        """Keep a page that was read, with the status its file had when it was asked for it."""
        # A file touched a moment ago may change again without its time changing.
        if not settled(status.st_ctime_ns, asked) or len(page.content) > _BYTES // 8:
            return
        if self._bytes > _BYTES:
            self.pages.clear()
            self._bytes = 0
        self._bytes += len(page.content)
        self.pages[key] = (status.st_ctime_ns, status.st_ino, page)
