"""The history of one page on disk: a log of changes, and the prior versions as plain files.

`.looseleaf/history/<shelf>/<page>/` holds `log`, one JSON line per change, and a file per prior
version named by its number. A line also carries what the change put in (`redo`), so that a version
which an outside program overwrites before we replace it can be made again from the one before.
"""

from __future__ import annotations

import os

from looseleaf import atomic
from looseleaf.errors import Unavailable
from looseleaf.folders import NO_FILE, READ, inode_of, read_all
from looseleaf.memory.history import Revision
from looseleaf.memory.store import content_hash
from looseleaf.stores.history_notes import note_head, note_page
from looseleaf.stores.log_line import CHECKSUM, encode_line
from looseleaf.stores.splice import is_whole, splice, unsplice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from looseleaf.stores.recent import Write

    Line = dict[str, Any]
    Choice = Callable[[list[Revision]], list[Revision]]

LOG = "log"
_TAIL = 8_192
_NAMES_EVERY = 16
_CHANGE = {"revision", "time", "operation", "actor", "surface", "reason", "hash", "bytes"}
_LATEST = 253_402_300_799.0  # the last second of the year 9999, past which no date can be written


def stamp(seconds: float) -> str:
    """Write a time as people and programs read it: UTC, to the microsecond."""
    from datetime import UTC, datetime

    moment = datetime.fromtimestamp(min(max(seconds, 0.0), _LATEST), UTC)
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def seconds(stamped: str) -> float:
    """Read back what `stamp` wrote."""
    from datetime import datetime

    return datetime.fromisoformat(stamped).timestamp()


class PageLog:
    """The log and the prior versions of one page, in an open directory."""

    __slots__ = ("_fd", "_last", "_size", "_staging", "folder", "what")

    def __init__(self, folder: int, what: str) -> None:
        self.folder = folder
        self.what = what
        self._fd = -1
        self._size = 0  # while the log is open for writing; nobody else makes it longer then
        self._last: Line | None = None  # the newest change, once it is known
        self._staging: tuple[int, str] | None = None

    def open(
        self, *, mode: int, staging: tuple[int, str], recent: Write | None = None
    ) -> os.stat_result:
        """Open the log for writing and give its status; cut off a line left unfinished by a crash.

        Files that replace others of the history are made ready at `staging`, a folder and a name.
        Where the log is as a recent write of this process left it, it need not be read.
        """
        self._staging = staging
        self._fd = atomic.open_log(self.folder, LOG, mode=mode)
        status = self.status()
        self._size = status.st_size
        if recent is not None and recent.is_last(status):
            self._last = recent.line
        elif self._size:
            line = self._last_line(self._size)
            if line.endswith(b"\n"):
                self._last = self._change_of(line)
            else:
                self.cut(self._size - len(line))
        return status

    def close(self) -> None:
        """Close the log."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def status(self) -> os.stat_result:
        """Look at the open log."""
        return os.fstat(self._fd)

    def size(self) -> int:
        """Give the length of the log, to cut it back to."""
        return self._size or self.status().st_size

    def last(self) -> Line | None:
        """Give the newest change; the log is open and locked."""
        if self._last is None:
            size = self.size()
            self._last = self._change_of(self._last_line(size)) if size else None
        return self._last

    def _change_of(self, line: bytes) -> Line | None:
        """Read the last line; a purge is noted in the log without being a change of the page."""
        found = self.parse(line)
        if "revision" in found:
            return found
        return next((entry for entry in reversed(self.lines()) if "revision" in entry), None)

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
        return int(self.parse(line).get("revision", 0)) if whole else 0

    def add(self, entry: Line) -> None:
        """Append a change durably."""
        line = encode_line(entry)
        if not self._size:
            note_page(self.folder, self.what)
        atomic.append(self._fd, line, self._size)
        self._size += len(line)
        self._last = entry
        if "revision" in entry:
            note_head(self.folder, entry["revision"])

    def cut(self, size: int) -> None:
        """Take back what was added since the log had this length."""
        if self.status().st_size > size:
            before = self._change_of(self._last_line(size)) if size else None
            note_head(self.folder, before["revision"] if before else 0)  # first: never ahead
            atomic.truncate(self._fd, size)
        self._size, self._last = size, None

    def rewrite(self, lines: list[Line], *, mode: int) -> None:
        """Replace the whole log; the page is locked by its directory, not by this file."""
        self.close()
        self._last = None
        atomic.sync(self.folder)  # what the new log can no longer make again must lie here
        content = b"".join(map(encode_line, lines))
        atomic.replace(self.folder, LOG, content, mode=mode, staging=self._staging)

    def lines(self) -> list[Line]:
        """Read every whole line, oldest first; works without the lock."""
        return [self.parse(line) for line in self.raw_lines()]

    def raw_lines(self) -> list[bytes]:
        """Give every whole line as it was written, oldest first."""
        try:
            fd = os.open(LOG, READ, dir_fd=self.folder)
        except FileNotFoundError:
            return []
        try:
            whole, _, _unfinished = read_all(fd).rpartition(b"\n")
        finally:
            os.close(fd)
        return [line for line in whole.split(b"\n") if line]

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

    def sync_names(self, number: int) -> None:
        """Sync the names of prior versions, if it is time: `number` has just been given one.

        A name that a power cut takes away is made up for by the log, which tells what was done to
        the version before. So names are synced only now and then, and where the log cannot help.
        """
        last = self.last()
        if number % _NAMES_EVERY == 0 or last is None or "redo" not in last:
            atomic.sync(self.folder)

    def version(self, line: Line) -> bytes | None:
        """Give the bytes of a change: as they lie there, or made again from the version before.

        None where neither gives what was written, byte for byte.
        """
        content = self.prior(line["revision"])
        if content is None or content_hash(content) != line["hash"]:
            content = self._made_again(line)
        return content if content is not None and content_hash(content) == line["hash"] else None

    def _made_again(self, line: Line) -> bytes | None:
        """Do again what was done since the newest version that lies here, or since nothing was."""
        redos = []
        older: dict[int, Line] = {}
        content = None
        while content is None:
            if "redo" not in line:
                return None
            number = line["revision"] - 1
            redos.append(line["redo"])
            content = b"" if is_whole(line["redo"], line["bytes"]) else self.prior(number)
            if content is None:
                older = older or {one["revision"]: one for one in self.lines() if "hash" in one}
                line = older.get(number, {})
        for redo in reversed(redos):
            content = unsplice(content, redo)
        return content

    def holds(self, inode: int) -> str | None:
        """Name the prior version that is this very file, if there is one."""
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.inode() == inode:
                    return entry.name
        return None

    def prune(self, outlived: Choice, *, present: bytes, mode: int) -> int:
        """Drop the versions that are chosen to go, and the copies in the log of those that lie as
        files anyway; give how many versions went. `present` is what the page says now."""
        lines = self.lines()
        changes = [revision_of(line, kept=True) for line in lines if "revision" in line]
        gone = {revision.number for revision in outlived(changes)}
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
        name = str(line["revision"])
        if line["hash"] and content is not None and self.prior(line["revision"]) != content:
            atomic.replace(self.folder, name, content, mode=mode, staging=self._staging)

    def _last_line(self, size: int) -> bytes:
        window = _TAIL
        while True:
            start = max(0, size - window)
            tail = os.pread(self._fd, size - start, start)
            cut = tail.rfind(b"\n", 0, len(tail) - 1)
            if cut >= 0 or start == 0:
                return tail[cut + 1 :]
            window *= 8

    def parse(self, line: bytes) -> Line:
        """Read a line."""
        import json

        try:
            found = json.loads(line)
        except ValueError as error:
            raise self._damaged(error) from error
        if not isinstance(found, dict) or not (found.keys() >= _CHANGE or "purged" in found):
            raise self._damaged("it tells of no change")
        found.pop(CHECKSUM, None)
        return found

    def _damaged(self, why: object) -> Unavailable:
        return Unavailable(f"The history of {self.what}", f"a line of its log is damaged ({why})")


def stand_alone(lines: list[Line], present: bytes) -> None:
    """Let the newest change carry all its bytes: the version it was made from is going."""
    newest = [line for line in lines if "revision" in line][-1]
    if "redo" in newest and content_hash(present) == newest["hash"]:
        newest["redo"] = splice(b"", present)


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
