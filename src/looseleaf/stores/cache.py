"""What was read of pages, for as long as their files have not changed."""

from __future__ import annotations

import os

from looseleaf.folders import settled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.memory.store import Found

_BYTES = 16_000_000


class PageCache:
    """Pages by the path of their file, each with the time and inode it had when it was read."""

    def __init__(self) -> None:
        self._pages: dict[str, tuple[int, int, Found]] = {}
        self._bytes = 0

    def unchanged(self, path: str) -> Found | None:
        """Give a page again if its file is the one that was read, untouched since."""
        kept = self._pages.get(path)
        if kept is None:
            return None
        try:
            status = os.lstat(path)
        except OSError:
            return None  # reading anew tells what is wrong
        return kept[2] if (status.st_ctime_ns, status.st_ino) == kept[:2] else None

    def remember(self, path: str, page: Found, *, status: os.stat_result, asked: int) -> None:
        """Keep a page that was read, with the status its file had when it was asked for it."""
        # A file touched a moment ago may change again without its time changing.
        if not settled(status, asked) or len(page.content) > _BYTES // 8:
            return
        if self._bytes > _BYTES:
            self._pages.clear()
            self._bytes = 0
        self._bytes += len(page.content)
        self._pages[path] = (status.st_ctime_ns, status.st_ino, page)
