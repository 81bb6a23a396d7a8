"""The history of one page on disk: a log of changes, and the prior versions as plain files.

`.looseleaf/history/<shelf>/<page>/` holds `log`, one JSON line per change, a file per prior version
named by its number, and `pack`, the versions that were packed into one file. A line also holds the
text that the change inserted (`redo`): if an outside program overwrites a version before a write
keeps it, the version is rebuilt from the one before.
"""

from __future__ import annotations

import os

from looseleaf.errors import Unavailable
from looseleaf.files import atomic
from looseleaf.files.folders import NO_FILE, READ, OsErrorContext, inode_of, read_all
from looseleaf.memory.store import hash_content
from looseleaf.stores.disk.history.delta import apply_splice, is_whole
from looseleaf.stores.disk.history.log_line import CHECKSUM, encode_line, is_unlogged
from looseleaf.stores.disk.listing import LOG, PACK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from looseleaf.memory.scope import Shelf
    from looseleaf.stores.disk.history.log_line import Line
    from looseleaf.stores.disk.history.packs import PackFile
    from looseleaf.stores.disk.store_folder import StoreFolder, Write


# Notes by which a lost history is noticed: the pages that had one, and the end of each log.
# The list of pages stands beside the histories of a shelf, the number of the newest change
# beside each log. Neither is synced: a power cut may undo a note, and a later loss is then not
# noticed. Nothing else depends on the notes. By the note of removals, a running search learns
# that versions are gone.


NAME = ".pages"
HEAD = ".head"
REMOVALS = ".removals"
HISTORY = ".looseleaf/history"


def note_page(history_folder: int, name: str) -> None:
    """Add a page to the list of its shelf; `history_folder` is its open history."""
    line = name.replace("/", ":").encode() + b"\n"
    shelf = os.open("..", atomic.FOLDER, dir_fd=history_folder)
    try:
        atomic.add_line(shelf, NAME, line, mode=atomic.derive_file_mode(shelf))
    finally:
        os.close(shelf)


def read_known_pages(store: StoreFolder, shelf: Shelf) -> set[str]:
    """Read the names of all pages of a shelf that ever had a history."""
    folder = store.open_own(*HISTORY.split("/"), shelf.name)
    if folder is None:
        return set()
    try:
        fd = os.open(NAME, READ, dir_fd=folder)
    except FileNotFoundError:
        return set()  # an older Looseleaf made it
    finally:
        os.close(folder)
    try:
        lines = read_all(fd).decode("utf-8", "replace").split("\n")
    finally:
        os.close(fd)
    return {line.replace(":", "/") for line in lines[:-1]}


def note_head(history_folder: int, number: int) -> None:
    """Record the number of the newest change that is in a log."""
    atomic.overwrite(history_folder, HEAD, b"%020d\n" % number)


def read_head(history_folder: int) -> int:
    """Read the number of the newest change that was ever in a log, or 0 if it is not noted."""
    try:
        fd = os.open(HEAD, READ, dir_fd=history_folder)
    except FileNotFoundError:
        return 0  # an older Looseleaf made it
    try:
        digits = read_all(fd).strip()
    finally:
        os.close(fd)
    return int(digits) if digits.isdigit() else 0


def is_head_damaged(history_folder: int) -> bool:
    """Return whether the note of the newest change is no number; a power cut may leave it empty."""
    try:
        fd = os.open(HEAD, READ, dir_fd=history_folder)
    except FileNotFoundError:
        return False
    try:
        digits = read_all(fd).strip(b"\0\n")
    finally:
        os.close(fd)
    return bool(digits) and not digits.isdigit()


def note_removal(store: StoreFolder, shelf: Shelf) -> None:
    """Record that versions of a shelf are being removed: the note becomes longer."""
    folder = store.open_own(*HISTORY.split("/"), shelf.name)
    if folder is None:
        return
    try:
        with OsErrorContext(f"The history of {shelf.name}"):
            atomic.add_line(folder, REMOVALS, b"\n", mode=atomic.derive_file_mode(folder))
    finally:
        os.close(folder)


def count_removals(store: StoreFolder, shelf: Shelf) -> int:
    """Return the length of the note of removals; it changes with every removal."""
    try:
        return os.lstat(f"{store.root}/{HISTORY}/{shelf.name}/{REMOVALS}").st_size
    except (FileNotFoundError, NotADirectoryError):
        return 0


_TAIL = 8_192
_NAMES_EVERY = 16
_CHANGE = {"revision", "time", "operation", "actor", "surface", "reason", "hash", "bytes"}


class PageLog:
    """The log and the prior versions of one page, in an open directory."""

    __slots__ = (
        "_begun_bytes", "_fd", "_last", "_newest", "_newest_bytes", "_pack", "_size", "_staging",
        "filename", "folder", "unlogged",
    )  # fmt: skip

    def __init__(self, folder: int, filename: str) -> None:
        self.folder = folder
        self.filename = filename
        self._fd = -1
        self._size = 0  # while the log is open for writing; nobody else makes it longer then
        self._begun_bytes = 0  # of a line after that, which has no end yet
        self._last: Line | None = None  # the newest change, once it is known
        self._newest: Line | None = None  # the newest change as last seen without the lock
        self._newest_bytes = b""  # the line it was parsed from
        self._staging: tuple[int, str] | None = None
        self._pack: PackFile | None = None  # once a version was looked for in it
        self.unlogged: Line | None = None  # a change whose process died before it was logged

    def open(
        self, *, mode: int, staging: tuple[int, str], recent: Write | None = None
    ) -> os.stat_result:
        """Open the log for writing and return its status; cut off a line unfinished by a crash.

        If only the end of that line is missing, it is kept as `unlogged`.

        Files that replace others of the history are first written to `staging`, a folder and a
        name.
        If the log is as a recent write of this process left it, it need not be read.
        """
        self._staging = staging
        self._fd = atomic.open_log(self.folder, LOG, mode=mode)
        status = self.status()
        self._size = status.st_size
        if recent is not None and recent.is_last(status):
            self._last = recent.line
        elif self._size:
            line = self._read_last_line(self._size)
            if line.endswith(b"\n"):
                self._last = self._change_of(line)
            else:
                self.unlogged = self.parse(line) if is_unlogged(line) else None
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
        """Return the length of the log, to which `cut` can return."""
        return self._size or self.status().st_size

    def last(self) -> Line | None:
        """Return the newest change; the log is open and locked."""
        if self._last is None:
            size = self.size()
            self._last = self._change_of(self._read_last_line(size)) if size else None
        return self._last

    def _change_of(self, line: bytes) -> Line | None:
        """Read the newest change, given the last line, which may note a purge instead."""
        change = self.parse(line)
        if "revision" in change:
            return change
        return next((entry for entry in reversed(self.lines()) if "revision" in entry), None)

    def newest(self) -> Line | None:
        """Return the newest change without the lock, or None if its end is not a whole line."""
        try:
            self._fd = os.open(LOG, READ, dir_fd=self.folder)
        except FileNotFoundError:
            return None
        try:
            size = self.size()
            line = self._read_last_line(size) if size else b""
            if not line.endswith(b"\n"):
                return None
            if line != self._newest_bytes:
                self._newest_bytes, self._newest = line, self._change_of(line)
            return self._newest
        finally:
            self.close()

    def first(self) -> int:
        """Return the number of the oldest change, or 0 if the first bytes do not hold it."""
        line, newline, _ = os.pread(self._fd, _TAIL, 0).partition(b"\n")
        return int(self.parse(line).get("revision", 0)) if newline else 0

    def begin(self, entry: Line) -> None:
        """Append the line of a change that is about to be made, without its end.

        No reader takes such a line for a change. If this process dies before `add`, it tells
        whose change that was.
        """
        line = encode_line(entry)[:-1]
        atomic.write_all(self._fd, line)
        self._begun_bytes = len(line)

    def add(self, entry: Line) -> None:
        """Append a change durably; of a line that was begun, only the end is missing."""
        line = b"\n" if self._begun_bytes else encode_line(entry)
        if not self._size:
            note_page(self.folder, self.filename)
        atomic.append(self._fd, line, self._size)
        self._size += self._begun_bytes + len(line)
        self._begun_bytes = 0
        self._last = entry
        if "revision" in entry:
            note_head(self.folder, entry["revision"])

    def cut(self, size: int) -> None:
        """Cut the log back to this length."""
        if self.status().st_size > size:
            before = self._change_of(self._read_last_line(size)) if size else None
            # The note comes first, so that it is never ahead of the log.
            note_head(self.folder, before["revision"] if before else 0)
            atomic.truncate(self._fd, size)
        self._size, self._last, self._begun_bytes = size, None, 0

    def rewrite(self, lines: list[Line], *, mode: int) -> None:
        """Replace the whole log; the page is locked by its directory, not by this file."""
        self.close()
        self._last = None
        atomic.sync(self.folder)  # versions that the new log cannot redo must have files
        content = b"".join(map(encode_line, lines))
        atomic.replace(self.folder, LOG, content, mode=mode, staging=self._staging)

    def lines(self) -> list[Line]:
        """Read every whole line, oldest first; works without the lock."""
        return [self.parse(line) for line in self.raw_lines()]

    def raw_lines(self) -> list[bytes]:
        """Return every whole line as it was written, oldest first."""
        return [line for line in self._read_log().split(b"\n") if line]

    def _read_log(self) -> bytes:
        try:
            fd = os.open(LOG, READ, dir_fd=self.folder)
        except FileNotFoundError:
            return b""
        try:
            return read_all(fd).rpartition(b"\n")[0]
        finally:
            os.close(fd)

    def lines_from(self, number: int) -> list[Line]:
        """Read the line of a change and all lines after it, or every line if it has none."""
        content = b"\n" + self._read_log()
        start = max(0, content.find(b'\n{"revision":%d,' % number))
        return [self.parse(line) for line in content[start:].split(b"\n") if line]

    def find(self, number: int) -> Line | None:
        """Return the line of a change, and parse no other if that can be avoided."""
        content = b"\n" + self._read_log() + b"\n"
        start = content.find(b'\n{"revision":%d,' % number)
        if start >= 0:
            return self.parse(content[start + 1 : content.index(b"\n", start + 1)])
        return next((line for line in self.lines() if line.get("revision") == number), None)

    def prior(self, number: int) -> bytes | None:
        """Read a prior version from its file, or from the pack, or None if it is not kept."""
        try:
            fd = os.open(str(number), READ, dir_fd=self.folder)
        except FileNotFoundError:
            return self.packed_version(number)
        try:
            return read_all(fd)
        finally:
            os.close(fd)

    def packed_version(self, number: int) -> bytes | None:
        """Read a prior version from the pack, or None if the pack does not hold it."""
        content = self._pack.read(number) if self._pack is not None else None
        if content is None:
            # A version is in the pack before its file is removed, so that the present pack has it.
            pack = self.pack()
            content = pack.read(number) if pack is not None else None
        return content

    def pack(self) -> PackFile | None:
        """Open the pack as it is now, or None if there is none."""
        if inode_of(self.folder, PACK) == NO_FILE:
            self._pack = None
            return None
        from looseleaf.stores.disk.history.packs import open_pack

        pack = open_pack(self.folder)
        if pack is None or self._pack is None or pack.inode != self._pack.inode:
            self._pack = pack
        return self._pack

    def replace_pack(
        self, chunks: Iterable[bytes], *, mode: int, staging: tuple[int, str] | None = None
    ) -> None:
        """Replace the whole pack; it is on disk when this returns."""
        atomic.replace(self.folder, PACK, chunks, mode=mode, staging=staging or self._staging)

    def replace_file(self, name: str, content: bytes, *, mode: int) -> None:
        """Replace a file beside the log; the page is locked."""
        atomic.replace(self.folder, name, content, mode=mode, staging=self._staging)

    def keep(self, folder: int, name: str, number: int) -> None:
        """Link a file into the history, in place of one that a crash left under that number."""
        try:
            atomic.link_file(folder, name, self.folder, str(number))
        except FileExistsError:
            atomic.remove(self.folder, str(number))
            atomic.link_file(folder, name, self.folder, str(number))

    def sync_names(self, number: int) -> None:
        """Sync the names of prior versions, if it is time; `number` is the newest name.

        A version whose name a power cut removes is rebuilt from the log. So names are synced only
        now and then, and if the log cannot rebuild a version.
        """
        last = self.last()
        if number % _NAMES_EVERY == 0 or last is None or "redo" not in last:
            atomic.sync(self.folder)

    def version(self, line: Line) -> bytes | None:
        """Read a version from its file or the pack, or rebuild it from the version before.

        None if none of them gives the bytes that were written.
        """
        content = self.prior(line["revision"])
        if content is not None and hash_content(content) != line["hash"]:
            content = self.packed_version(line["revision"])  # its file is not what was written
        if content is None or hash_content(content) != line["hash"]:
            content = self._redo_changes(line)
        return content if content is not None and hash_content(content) == line["hash"] else None

    def _redo_changes(self, line: Line) -> bytes | None:
        """Redo the changes since the newest version that has a file, or since the first one."""
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
                older = older or {
                    entry["revision"]: entry for entry in self.lines() if "hash" in entry
                }
                line = older.get(number, {})
        for redo in reversed(redos):
            content = apply_splice(content, redo)
        return content

    def find_file(self, inode: int) -> str | None:
        """Find the name of a file in the history by its inode number, or None if it has none."""
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.inode() == inode:
                    return entry.name
        return None

    def rescue(self, line: Line, *, at_hand: bytes | None = None, mode: int) -> None:
        """Keep a version that was overwritten outside, from the bytes `at_hand` or rebuilt."""
        content = at_hand
        if content is None or hash_content(content) != line["hash"]:
            content = self.version(line)
        name = str(line["revision"])
        if line["hash"] and content is not None and self.prior(line["revision"]) != content:
            atomic.replace(self.folder, name, content, mode=mode, staging=self._staging)

    def _read_last_line(self, size: int) -> bytes:
        window = _TAIL
        while True:
            start = max(0, size - window)
            tail = os.pread(self._fd, size - start, start)
            newline = tail.rfind(b"\n", 0, len(tail) - 1)
            if newline >= 0 or start == 0:
                return tail[newline + 1 :]
            window *= 8

    def parse(self, line: bytes) -> Line:
        """Parse a line."""
        import json

        try:
            entry = json.loads(line)
        except ValueError as error:
            raise self._damage_error(error) from error
        if not isinstance(entry, dict) or not (entry.keys() >= _CHANGE or "purged" in entry):
            raise self._damage_error("it tells of no change")
        entry.pop(CHECKSUM, None)
        return entry

    def _damage_error(self, reason: object) -> Unavailable:
        return Unavailable(
            f"The history of {self.filename}", f"a line of its log is damaged ({reason})"
        )
