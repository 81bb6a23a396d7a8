"""The history of one page on disk: a log of changes, and the prior versions as plain files.

`.looseleaf/history/<shelf>/<page>/` holds `log`, one JSON line per change, and a file per prior
version named by its number. A line also carries what the change put in (`redo`), so that a version
which an outside program overwrites before we replace it can be made again from the one before.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime

from looseleaf import atomic
from looseleaf.errors import Unavailable
from looseleaf.folders import NO_FILE, READ, inode_of, read_all
from looseleaf.memory.history import Retention, Revision, outlived
from looseleaf.memory.store import content_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Line = dict[str, Any]

LOG = "log"
_TAIL = 8_192
_CHANGE = {"revision", "time", "operation", "actor", "surface", "reason", "hash", "bytes"}
_LATEST = 253_402_300_799.0  # the last second of the year 9999, past which no date can be written


def stamp(seconds: float) -> str:
    """Write a time as people and programs read it: UTC, to the microsecond."""
    moment = datetime.fromtimestamp(min(max(seconds, 0.0), _LATEST), UTC)
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def seconds(stamped: str) -> float:
    """Read back what `stamp` wrote."""
    return datetime.fromisoformat(stamped).timestamp()


def splice(old: bytes, new: bytes) -> list[object]:
    """Give the one replacement that makes `new` of `old`: offset, bytes removed, text put in."""
    start = _common(old, new)
    end = _common_end(old[start:], new[start:])
    # Where a cut goes through a character, the whole character is put in.
    while start and _continues(new[start : start + 1]):
        start -= 1
    while end and _continues(new[len(new) - end : len(new) - end + 1]):
        end -= 1
    put_in = new[start : len(new) - end]
    try:
        return [start, len(old) - start - end, put_in.decode()]
    except UnicodeDecodeError:  # the page is not text
        return [0, len(old), new.decode("latin-1"), "latin-1"]


def _continues(byte: bytes) -> bool:
    """Say whether a byte is one of those that follow the first of a UTF-8 character."""
    return b"\x80" <= byte < b"\xc0"


def unsplice(old: bytes, redo: list[Any]) -> bytes:
    """Apply what `splice` gave."""
    start, removed, put_in, *encoding = redo
    middle: bytes = put_in.encode(*encoding)
    return old[:start] + middle + old[start + removed :]


def _common(left: bytes, right: bytes) -> int:
    """Count the bytes two strings share at their start, by halving: each step is one memcmp."""
    low, high = 0, min(len(left), len(right))
    if left[:high] == right[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _common_end(left: bytes, right: bytes) -> int:
    """Count the bytes two strings share at their end, likewise."""
    low, high = 0, min(len(left), len(right))
    if left.endswith(right[len(right) - high :]):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if left[-middle : len(left) - low] == right[-middle : len(right) - low]:
            low = middle
        else:
            high = middle
    return low


class PageLog:
    """The log and the prior versions of one page, in an open directory."""

    __slots__ = ("_fd", "_staging", "folder", "what")

    def __init__(self, folder: int, what: str) -> None:
        self.folder = folder
        self.what = what
        self._fd = -1
        self._staging: tuple[int, str] | None = None

    def open(self, *, mode: int, staging: tuple[int, str]) -> None:
        """Open the log for writing; cut off a line that a crash left unfinished.

        Files that replace others of the history are made ready at `staging`, a folder and a name.
        """
        self._staging = staging
        self._fd = atomic.open_log(self.folder, LOG, mode=mode)
        size = self.size()
        if size and os.pread(self._fd, 1, size - 1) != b"\n":
            atomic.truncate(self._fd, size - len(self._last_line(size)))

    def close(self) -> None:
        """Close the log."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def size(self) -> int:
        """Give the length of the log, to cut it back to."""
        return os.fstat(self._fd).st_size

    def last(self) -> Line | None:
        """Give the newest change; the log is open and locked."""
        size = self.size()
        line = self._last_line(size) if size else b""
        found = self._parsed(line) if line else None
        # A purge is noted in the log without being a change of the page.
        if found is not None and "revision" not in found:
            changes = [entry for entry in self.lines() if "revision" in entry]
            return changes[-1] if changes else None
        return found

    def newest(self) -> Line | None:
        """Give the newest change without the lock; None where a look at the end does not tell."""
        try:
            self._fd = os.open(LOG, READ, dir_fd=self.folder)
        except FileNotFoundError:
            return None
        try:
            size = self.size()
            whole = size and os.pread(self._fd, 1, size - 1) == b"\n"
            return self.last() if whole else None
        finally:
            self.close()

    def first(self) -> int:
        """Give the number of the oldest change, or 0 where that is not seen at a glance."""
        line, whole, _ = os.pread(self._fd, _TAIL, 0).partition(b"\n")
        return int(self._parsed(line).get("revision", 0)) if whole else 0

    def add(self, entry: Line) -> None:
        """Append a change durably."""
        atomic.append(self._fd, _line(entry))

    def cut(self, size: int) -> None:
        """Take back what was added since the log had this length."""
        if self.size() > size:
            atomic.truncate(self._fd, size)

    def rewrite(self, lines: list[Line], *, mode: int) -> None:
        """Replace the whole log; the page is locked by its directory, not by this file."""
        self.close()
        content = b"".join(_line(entry) for entry in lines)
        atomic.replace(self.folder, LOG, content, mode=mode, staging=self._staging)

    def lines(self) -> list[Line]:
        """Read every whole line, oldest first; works without the lock."""
        try:
            fd = os.open(LOG, READ, dir_fd=self.folder)
        except FileNotFoundError:
            return []
        try:
            whole, _, _unfinished = read_all(fd).rpartition(b"\n")
        finally:
            os.close(fd)
        return [self._parsed(line) for line in whole.split(b"\n") if line]

    def prior(self, number: int) -> bytes | None:
        """Read a prior version; None where it is not kept."""
        try:
            fd = os.open(str(number), READ, dir_fd=self.folder)
        except FileNotFoundError:
            return None
        try:
            return read_all(fd)
        finally:
            os.close(fd)

    def keep(self, folder: int, name: str, number: int) -> None:
        """Link a file into the history, in the place of what a crash left under that number."""
        try:
            atomic.link(folder, name, self.folder, str(number))
        except FileExistsError:
            atomic.remove(self.folder, str(number))
            atomic.link(folder, name, self.folder, str(number))

    def version(self, line: Line) -> bytes | None:
        """Give the bytes of a change: as they lie there, or made again from the version before.

        None where neither gives what was written, byte for byte.
        """
        for content in (self.prior(line["revision"]), self._made_again(line)):
            if content is not None and content_hash(content) == line["hash"]:
                return content
        return None

    def _made_again(self, line: Line) -> bytes | None:
        if "redo" not in line:
            return None
        return unsplice(self.prior(line["revision"] - 1) or b"", line["redo"])

    def holds(self, inode: int) -> str | None:
        """Name the prior version that is this very file, if there is one."""
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.inode() == inode:
                    return entry.name
        return None

    def prune(self, retention: Retention, now: float, *, present: bytes, mode: int) -> int:
        """Drop the versions that are no longer kept, and the copies in the log of those that lie
        as files anyway; give how many versions went. `present` is what the page says now."""
        lines = self.lines()
        changes = [revision_of(line, kept=True) for line in lines if "revision" in line]
        gone = {revision.number for revision in outlived(changes, retention, now)}
        newest = changes[-1].number if changes else 0
        for line in lines:
            if "redo" in line and line["revision"] != newest:
                if inode_of(self.folder, str(line["revision"])) == NO_FILE:
                    self.rescue(line, mode=mode)
                del line["redo"]
        if newest - 1 in gone:
            stand_alone(lines, present)
        # The lines go last: while they are there, a prune that was cut short is done again.
        for number in gone:
            atomic.remove(self.folder, str(number))
        left = [line for line in lines if line.get("revision", line.get("purged")) not in gone]
        self.rewrite(left, mode=mode)
        return len(gone)

    def rescue(self, line: Line, *, at_hand: bytes | None = None, mode: int) -> None:
        """Keep a version that was overwritten from outside: as read before, or made again."""
        content = at_hand
        if content is None or content_hash(content) != line["hash"]:
            content = self.version(line)
        number = line["revision"]
        if line["hash"] and content is not None and self.prior(number) != content:
            atomic.replace(self.folder, str(number), content, mode=mode, staging=self._staging)

    def _last_line(self, size: int) -> bytes:
        window = _TAIL
        while True:
            start = max(0, size - window)
            tail = os.pread(self._fd, size - start, start)
            cut = tail.rfind(b"\n", 0, len(tail) - 1)
            if cut >= 0 or start == 0:
                return tail[cut + 1 :]
            window *= 8

    def _parsed(self, line: bytes) -> Line:
        import json

        try:
            found = json.loads(line)
        except ValueError as error:
            raise self._damaged(error) from error
        if not isinstance(found, dict) or not (found.keys() >= _CHANGE or "purged" in found):
            raise self._damaged("it tells of no change")
        return found

    def _damaged(self, why: object) -> Unavailable:
        return Unavailable(f"The history of {self.what}", f"a line of its log is damaged ({why})")


def stand_alone(lines: list[Line], present: bytes) -> None:
    """Let the newest change carry all its bytes: the version it was made from is going."""
    newest = [line for line in lines if "revision" in line][-1]
    if "redo" in newest and content_hash(present) == newest["hash"]:
        newest["redo"] = splice(b"", present)


def _line(entry: Line) -> bytes:
    import json

    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def revision_of(line: Line, *, kept: bool, purged: str = "") -> Revision:
    """Make the value of a line of the log."""
    return Revision(
        number=line["revision"],
        time=seconds(line["time"]),
        operation=line["operation"],
        actor=line["actor"],
        surface=line["surface"],
        reason=line["reason"],
        hash=line["hash"],
        bytes=line["bytes"],
        kept=kept,
        purged=purged,
    )
