"""One page under its lock: its present state, and the changes made to it outside."""

from __future__ import annotations

import errno
import os

from looseleaf.errors import Unsafe
from looseleaf.files import atomic
from looseleaf.files.folders import (
    READ,
    check_regular,
    inode_of,
    open_folder,
    open_straight,
    read_all,
)
from looseleaf.files.mounts import wait_for_writers
from looseleaf.memory.provenance import OUTSIDE
from looseleaf.memory.store import Change, Found
from looseleaf.stores.disk.history.delta import splice
from looseleaf.stores.disk.history.log_line import CHANGED_OUTSIDE, encode_provenance
from looseleaf.stores.disk.history.revisions import PageLog
from looseleaf.stores.disk.listing import MAKING, STAGING, history_path_of, staged_name_of
from looseleaf.times import format_microseconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.memory.scope import Scope
    from looseleaf.stores.disk.history.log_line import Line
    from looseleaf.stores.disk.store_folder import StoreFolder

_STAGING_FROM_HISTORY = "../../../staging"  # from a page's own folder there
_NOT_OPEN = -1


def is_staged(store: StoreFolder, scope: Scope, inode: int) -> bool:
    """Return whether a file is the staged one of a page, finished or not."""
    staging = store.open_own(*STAGING.split("/"))
    if staging is None:
        return False
    try:
        staged_file = staged_name_of(scope)
        return inode in (inode_of(staging, staged_file + MAKING), inode_of(staging, staged_file))
    finally:
        os.close(staging)


class LockedPage:
    """A page whose lock this process holds; use it in a `with` block."""

    def __init__(
        self, store: StoreFolder, path: str, scope: Scope, patience: float = atomic.LOCK_SECONDS
    ) -> None:
        self.store = store
        self.folders, _, self.name = path.rpartition("/")
        self.scope = scope
        self.file_mode, self.folder_mode = store.modes
        self.patience = patience
        self.staged_name = staged_name_of(scope)
        self.unfinished_name = self.staged_name + MAKING  # of a file that is being written
        self.folder = self.staging = self._file = _NOT_OPEN
        self.device = 0
        self.states: list[Found] = []  # every state of the page that was read, in order
        self._noted_count = 0
        self._mark = (0, 0, 0, 0)  # of the page's file, when it was read
        self.log = PageLog(self._open_own(history_path_of(scope)), scope.filename)

    def __enter__(self) -> LockedPage:
        try:
            atomic.lock(self.log.folder, self.scope.filename, seconds=self.patience)
            self.staging = self._open_staging()
            self.device = self.log.open(
                mode=self.file_mode,
                staging=(self.staging, self.unfinished_name),
                recent=self.store.recent_writes.find(self.staged_name),
            ).st_dev
            self.open_folder(create=False)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_outcome: object) -> None:
        self.close()
        self.store.release()  # later reads look for the folder again

    def close(self) -> None:
        """Release the lock of the page."""
        self.log.close()
        atomic.unlock(self.log.folder)
        for fd in (self._file, self.folder, self.staging, self.log.folder):
            if fd >= 0:
                os.close(fd)
        self._file = self.folder = self.staging = self.log.folder = _NOT_OPEN

    def _open_own(self, path: str) -> int:
        # Our own folders may hold twins: one page was deleted, the other one created since.
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
            # No link can be on the way up: the parent of a folder is a folder.
            return os.open(_STAGING_FROM_HISTORY, atomic.FOLDER, dir_fd=self.log.folder)
        except OSError:
            return self._open_own(STAGING)

    def open_folder(self, *, create: bool) -> None:
        """Open the folder of the page, if it is there or may be created."""
        if self.folder >= 0:
            return
        mode = self.folder_mode if create else 0
        try:
            self.folder = self._open_below(self.folders, create=mode)
        except FileNotFoundError:
            self.folder = _NOT_OPEN

    def is_left_over(self) -> bool:
        """Return whether an interrupted write has left a file in staging, or a line in the log."""
        return self.log.unlogged is not None or inode_of(self.staging, self.staged_name) >= 0

    def current(self) -> Found | None:
        """Read the page as it is now; its file is kept open, to be looked at again."""
        if self._file >= 0:
            os.close(self._file)
            self._file = _NOT_OPEN
        if self.folder >= 0:
            self._file = self._open_file(self.folder, self.name)
        if self._file < 0:
            return None
        status, content = self._read(self._file, refuse_links=True)
        self._mark = _mark_of(status)
        recent_write = self.store.recent_writes.find(self.staged_name)
        known_hash = (
            recent_write.line["hash"] if recent_write and recent_write.content == content else ""
        )
        state = Found(content, status.st_ctime, known_hash)
        self.states.append(state)
        return state

    def is_unchanged(self) -> bool:
        """Return whether the page is the file that was read, unchanged according to its status."""
        try:
            status = os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return _mark_of(status) == self._mark

    def was_swapped_out(self, current: Found) -> bool:
        """Return whether the staged file is the one that was read, and has the same bytes."""
        if inode_of(self.staging, self.staged_name) != self._mark[0]:
            return False
        wait_for_writers(self._file, is_retry=True)
        return os.pread(self._file, len(current.content) + 1, 0) == current.content

    def read(self, folder: int, name: str) -> Found | None:
        """Read an ordinary file, after a short wait if a program is just writing it."""
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

    def _read(self, fd: int, *, refuse_links: bool = False) -> tuple[os.stat_result, bytes]:
        """Read an open file; `refuse_links` refuses a file that has another name elsewhere.

        The change time tells when the file came here; the modification time may be that of an old
        copy that someone put back.
        """
        status = os.fstat(fd)
        check_regular(self.scope.filename, status, self.device)
        if refuse_links and status.st_nlink > 1:
            self._drop_own_link(status)
        wait_for_writers(fd)
        return status, read_all(fd, status.st_size)

    def remember(self, line: Line, content: bytes) -> None:
        """Remember this write, so that the next one of this process need not read it."""
        self.store.recent_writes.remember(self.staged_name, line, self.log.status(), content)

    def _drop_own_link(self, status: os.stat_result) -> None:
        """Remove a second name that a failed write of ours left; refuse any other one."""
        history_name = self.log.find_file(status.st_ino)
        if history_name is None or status.st_nlink > 2:
            raise Unsafe(
                self.scope.filename, "it is a hard link to a file elsewhere; copy it instead"
            )
        atomic.remove(self.log.folder, history_name)

    def sync(self) -> None:
        """Sync the page as it is, and remove an unfinished file before."""
        atomic.remove(self.staging, self.unfinished_name)
        fd = os.open(self.name, READ, dir_fd=self.folder)
        try:
            atomic.sync(fd)
        finally:
            os.close(fd)
        atomic.sync(self.folder)

    def note(self, current: Found | None) -> int:
        """Log changes that were made outside, if any; return the number of the present state."""
        for state in self.states[self._noted_count :]:
            if state is not current:
                self._note(state)
        self._noted_count = len(self.states)
        return self._note(current)

    def _note(self, state: Found | None) -> int:
        last = self.log.last()
        number, last_hash = (last["revision"], last["hash"]) if last else (0, "")
        if last_hash == (state.hash if state else ""):
            return int(number)
        if last is not None:
            at_hand = next(
                (earlier.content for earlier in self.states if earlier.hash == last_hash), None
            )
            self.log.rescue(last, at_hand=at_hand, mode=self.file_mode)
        line = self.entry(number + 1, Change(OUTSIDE, CHANGED_OUTSIDE), state)
        if state is not None:
            before = self.log.version(last) if last else None
            line["redo"] = splice(before or b"", state.content)
            earliest = last["time"] if last else ""
            line["time"] = max(earliest, min(format_microseconds(state.updated), line["time"]))
        self.log.add(line)
        return int(number) + 1

    def entry(self, number: int, change: Change, state: Found | None) -> Line:
        """Build the line of the log for a change; `state` is the page after it."""
        entry: Line = {
            "revision": number,
            "time": format_microseconds(self.store.clock()),
            "operation": change.operation,
            **encode_provenance(change.provenance),
            "hash": state.hash if state else "",
            "bytes": len(state.content) if state else 0,
        }
        if change.moved_from:
            entry["moved_from"] = change.moved_from
        return entry


def _mark_of(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_ino, status.st_dev, status.st_mtime_ns, status.st_size
