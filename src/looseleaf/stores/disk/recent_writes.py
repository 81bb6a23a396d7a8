"""The newest writes of this process to a few pages, so that the next write need not read."""

from __future__ import annotations

from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

    from looseleaf.stores.disk.history.log_line import Line

_PAGES = 64
_BYTES = 100_000


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
        if len(content) > _BYTES:
            self._writes.pop(page, None)
            return
        if len(self._writes) >= _PAGES:
            self._writes.clear()
        self._writes[page] = Write(line, (log.st_ino, log.st_size, log.st_mtime_ns), content)
