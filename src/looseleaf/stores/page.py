"""One page held under its lock: what it says now, and what happened to it outside."""

from __future__ import annotations

import errno
import os

from looseleaf import atomic
from looseleaf.errors import LooseleafError, Unsafe
from looseleaf.folders import (
    READ,
    check_regular,
    inode_of,
    open_folder,
    open_straight,
    read_all,
)
from looseleaf.memory.scope import Shelf
from looseleaf.memory.store import Change, Found
from looseleaf.stores.revisions import PageLog, stamp
from looseleaf.stores.splice import splice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.memory.scope import Scope
    from looseleaf.stores.disk import DiskStore
    from looseleaf.stores.revisions import Line

HISTORY = ".looseleaf/history"
STAGING = ".looseleaf/staging"
_STAGING_FROM_HISTORY = "../../../staging"  # from a page's own folder there
MAKING = ":making"
_NOT_OPEN = -1


def staged_name(scope: Scope) -> str:
    """Name the staged file of a page: `:` cannot be in a page's name, so it reads back."""
    return f"{scope.shelf.name}:{scope.filename.replace('/', ':')}"


def scope_of_staged(name: str) -> Scope | None:
    """Read back the page that a name in staging or in a shelf's history stands for."""
    shelf_name, _, rest = name.partition(":")
    shelf = shelf_named(shelf_name)
    try:
        return shelf.page(rest.replace(":", "/")) if shelf is not None else None
    except LooseleafError:
        return None


def shelf_named(name: str) -> Shelf | None:
    """Read back the shelf that a name such as agent-3 stands for; None where it is no such name."""
    layer, _, identity = name.partition("-")
    number = int(identity) if identity.isascii() and identity.isdigit() else 0
    try:
        return Shelf(layer, number, number)  # type: ignore[arg-type]
    except LooseleafError:
        return None


def is_staged(store: DiskStore, scope: Scope, inode: int) -> bool:
    """Say whether a file is the staged one of a page, finished or not."""
    staging = store.open_own(*STAGING.split("/"))
    if staging is None:
        return False
    try:
        staged = staged_name(scope)
        return inode in (inode_of(staging, staged + MAKING), inode_of(staging, staged))
    finally:
        os.close(staging)


def history_segments(scope: Scope) -> tuple[str, ...]:
    """Give the folder of a page's history, below the root."""
    return (*HISTORY.split("/"), scope.shelf.name, scope.filename.replace("/", ":"))


class HeldPage:
    """A page whose lock this process holds; use it in a `with` block."""

    def __init__(
        self, store: DiskStore, path: str, scope: Scope, patience: float = atomic.LOCK_SECONDS
    ) -> None:
        self.store = store
        self.folders, _, self.name = path.rpartition("/")
        self.scope = scope
        self.file_mode, self.folder_mode = store.modes
        self.patience = patience
        self.staged = staged_name(scope)
        self.making = self.staged + MAKING  # a file under this name is not finished yet
        self.folder = self.staging = self._file = _NOT_OPEN
        self.device = 0
        self.seen: list[Found] = []  # every state of the page that was read, in order
        self._noted = 0
        self._mark = (0, 0, 0, 0)  # of the page's file, when it was read
        self.log = PageLog(self._open_own("/".join(history_segments(scope))), scope.filename)

    def __enter__(self) -> HeldPage:
        try:
            atomic.lock(self.log.folder, self.scope.filename, seconds=self.patience)
            self.staging = self._open_staging()
            self.device = self.log.open(
                mode=self.file_mode,
                staging=(self.staging, self.making),
                recent=self.store.recent.of(self.staged),
            ).st_dev
            self.open_folder(create=False)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_outcome: object) -> None:
        self.close()
        self.store.release()  # what was written to a folder is to be read from that one

    def close(self) -> None:
        """Let go of the page."""
        self.log.close()
        atomic.unlock(self.log.folder)
        for fd in (self._file, self.folder, self.staging, self.log.folder):
            if fd >= 0:
                os.close(fd)
        self._file = self.folder = self.staging = self.log.folder = _NOT_OPEN

    def _open_own(self, path: str) -> int:
        # Twins may meet in our own folders: one page was deleted, the other made since.
        return self._open_below(path, create=self.folder_mode, twins=True)

    def _open_below(self, path: str, *, create: int, twins: bool = False) -> int:
        straight = open_straight(f"{self.store.root}/{path}")
        if straight is not None:
            return straight
        root = self.store.root_folder.open()
        try:
            return open_folder(root, path.split("/"), create=create, twins=twins)
        finally:
            os.close(root)

    def _open_staging(self) -> int:
        try:
            # No link can lead astray on the way up: what stands above a folder is a folder.
            return os.open(_STAGING_FROM_HISTORY, atomic.FOLDER, dir_fd=self.log.folder)
        except OSError:
            return self._open_own(STAGING)

    def open_folder(self, *, create: bool) -> None:
        """Open the folder the page stands in, if it is there or may be made."""
        if self.folder >= 0:
            return
        mode = self.folder_mode if create else 0
        try:
            self.folder = self._open_below(self.folders, create=mode)
        except FileNotFoundError:
            self.folder = _NOT_OPEN

    def is_left_over(self) -> bool:
        """Say whether a write that was cut short has left a whole file in staging."""
        return inode_of(self.staging, self.staged) >= 0

    def current(self) -> Found | None:
        """Read the page as it is now; its file is kept open, to be looked at again."""
        if self._file >= 0:
            os.close(self._file)
            self._file = _NOT_OPEN
        if self.folder >= 0:
            self._file = self._open_file(self.folder, self.name)
        if self._file < 0:
            return None
        status, content = self._read(self._file, alone=True)
        self._mark = _mark(status)
        written = self.store.recent.of(self.staged)
        known = written.line["hash"] if written and written.content == content else ""
        found = Found(content, status.st_ctime, known)
        self.seen.append(found)
        return found

    def is_still(self) -> bool:
        """Say whether the page is the file that was read, untouched as far as its status tells."""
        try:
            status = os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return _mark(status) == self._mark

    def came_out(self, current: Found) -> bool:
        """Say whether the staged file is the one that was read, and has the same bytes."""
        if inode_of(self.staging, self.staged) != self._mark[0]:
            return False
        atomic.wait_for_writers(self._file)
        return os.pread(self._file, len(current.content) + 1, 0) == current.content

    def read(self, folder: int, name: str) -> Found | None:
        """Read an ordinary file, after a moment's wait where someone is just writing it."""
        fd = self._open_file(folder, name)
        if fd < 0:
            return None
        try:
            status, content = self._read(fd)
        finally:
            os.close(fd)
        return Found(content, status.st_ctime)

    def _open_file(self, folder: int, name: str) -> int:
        try:
            return os.open(name, READ, dir_fd=folder)
        except FileNotFoundError:
            return _NOT_OPEN
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise Unsafe(self.scope.filename, "it is a link") from error
            raise

    def _read(self, fd: int, *, alone: bool = False) -> tuple[os.stat_result, bytes]:
        """Read an open file; `alone` refuses one that has another name elsewhere.

        Of its times, the change time tells when it came to be here; the other may be that of an
        old copy someone put back.
        """
        status = os.fstat(fd)
        check_regular(self.scope.filename, status, self.device)
        if alone and status.st_nlink > 1:
            self._drop_own_link(status)
        atomic.wait_for_writers(fd)
        return status, read_all(fd, status.st_size)

    def remember(self, line: Line, content: bytes) -> None:
        """Spare the next write of this process what this one knows."""
        self.store.recent.remember(self.staged, line, self.log.status(), content)

    def _drop_own_link(self, status: os.stat_result) -> None:
        """A second name is ours, left by a write that failed, or a way out of the workspace."""
        ours = self.log.holds(status.st_ino)
        if ours is None or status.st_nlink > 2:
            raise Unsafe(
                self.scope.filename, "it is a hard link to a file elsewhere; copy it instead"
            )
        atomic.remove(self.log.folder, ours)

    def sync(self) -> None:
        """Make sure that the page as it is survives a power cut, and clear up before it."""
        atomic.remove(self.staging, self.making)
        fd = os.open(self.name, READ, dir_fd=self.folder)
        try:
            atomic.sync(fd)
        finally:
            os.close(fd)
        atomic.sync(self.folder)

    def note(self, current: Found | None) -> int:
        """Log what happened outside, if anything did; give the number of the present state."""
        for state in self.seen[self._noted :]:
            self._note(state)
        self._noted = len(self.seen)
        return self._note(current)

    def _note(self, state: Found | None) -> int:
        last = self.log.last()
        number, known = (last["revision"], last["hash"]) if last else (0, "")
        if known == (state.hash if state else ""):
            return int(number)
        if last is not None:
            at_hand = next((one.content for one in self.seen if one.hash == known), None)
            self.log.rescue(last, at_hand=at_hand, mode=self.file_mode)
        outside = Change("outside", surface="disk", reason="changed outside Looseleaf")
        line = self.entry(number + 1, outside, state)
        if state is not None:
            before = self.log.version(last) if last else None
            line["redo"] = splice(before or b"", state.content)
            earliest = last["time"] if last else ""
            line["time"] = max(earliest, min(stamp(state.updated), line["time"]))
        self.log.add(line)
        return int(number) + 1

    def entry(self, number: int, change: Change, state: Found | None) -> Line:
        """Make the line of the log for a change that left the page in a state."""
        return {
            "revision": number,
            "time": stamp(self.store.clock()),
            "operation": change.operation,
            "actor": change.actor,
            "surface": change.surface,
            "reason": change.reason,
            "hash": state.hash if state else "",
            "bytes": len(state.content) if state else 0,
        }


def _mark(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_ino, status.st_dev, status.st_mtime_ns, status.st_size
