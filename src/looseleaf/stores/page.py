"""One page held under its lock: what it says now, and what happened to it outside."""

from __future__ import annotations

import errno
import os
import time

from looseleaf import atomic
from looseleaf.errors import LooseleafError, Unsafe
from looseleaf.folders import READ, check_regular, open_folder, read_all
from looseleaf.memory.scope import Shelf
from looseleaf.memory.store import Change, Found
from looseleaf.stores.revisions import PageLog, splice, stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.memory.scope import Scope
    from looseleaf.stores.revisions import Line

HISTORY = ".looseleaf/history"
STAGING = ".looseleaf/staging"
MAKING = ":making"
_NOT_OPEN = -1


def staged_name(scope: Scope) -> str:
    """Name the staged file of a page: `:` cannot be in a page's name, so it reads back."""
    return f"{scope.shelf.name}:{scope.filename.replace('/', ':')}"


def scope_of_staged(name: str) -> Scope | None:
    """Read back the page that a name in staging or in a shelf's history stands for."""
    shelf, _, rest = name.partition(":")
    layer, _, identity = shelf.partition("-")
    number = int(identity) if identity.isdigit() else 0
    try:
        return Shelf(layer, number, number).page(rest.replace(":", "/"))  # type: ignore[arg-type]
    except LooseleafError:
        return None


def history_segments(scope: Scope) -> tuple[str, ...]:
    """Give the folder of a page's history, below the root."""
    return (*HISTORY.split("/"), scope.shelf.name, scope.filename.replace("/", ":"))


class HeldPage:
    """A page whose lock this process holds; use it in a `with` block."""

    def __init__(
        self,
        root: tuple[int, str],
        path: str,
        scope: Scope,
        *,
        modes: tuple[int, int],
        clock: Callable[[], float] = time.time,
        patience: float = atomic.LOCK_SECONDS,
    ) -> None:
        self.root, self.at = root  # open, and its path
        self.device = os.fstat(self.root).st_dev
        self.folders, _, self.name = path.rpartition("/")
        self.scope = scope
        self.file_mode, self.folder_mode = modes
        self.clock = clock
        self.patience = patience
        self.staged = staged_name(scope)
        self.making = self.staged + MAKING  # a file under this name is not finished yet
        self.folder = self.staging = _NOT_OPEN
        self.seen: list[Found] = []  # every state of the page that was read, in order
        self._noted = 0
        self.log = PageLog(self._open_own(history_segments(scope)), scope.filename)

    def __enter__(self) -> HeldPage:
        try:
            atomic.lock(self.log.folder, self.scope.filename, seconds=self.patience)
            self.staging = self._open_own(STAGING.split("/"))
            self.log.open(mode=self.file_mode, staging=(self.staging, self.making))
            self.open_folder(create=False)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_outcome: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the page."""
        self.log.close()
        atomic.unlock(self.log.folder)
        for fd in (self.folder, self.staging, self.log.folder):
            if fd >= 0:
                os.close(fd)
        self.folder = self.staging = self.log.folder = _NOT_OPEN

    def _open_own(self, segments: list[str] | tuple[str, ...]) -> int:
        # Twins may meet in our own folders: one page was deleted, the other made since.
        mode = self.folder_mode
        return open_folder(self.root, segments, create=mode, twins=True, at=self.at)

    def open_folder(self, *, create: bool) -> None:
        """Open the folder the page stands in, if it is there or may be made."""
        if self.folder >= 0:
            return
        mode = self.folder_mode if create else 0
        try:
            self.folder = open_folder(self.root, self.folders.split("/"), create=mode, at=self.at)
        except FileNotFoundError:
            self.folder = _NOT_OPEN

    def current(self) -> Found | None:
        """Read the page as it is now."""
        found = self.read(self.folder, self.name, alone=True) if self.folder >= 0 else None
        if found is not None:
            self.seen.append(found)
        return found

    def read(self, folder: int, name: str, *, alone: bool = False) -> Found | None:
        """Read an ordinary file, after a moment's wait where someone is just writing it.

        `alone` refuses one that has another name elsewhere.
        """
        try:
            fd = os.open(name, READ, dir_fd=folder)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise Unsafe(self.scope.filename, "it is a link") from error
            raise
        try:
            status = os.fstat(fd)
            check_regular(self.scope.filename, status, self.device)
            if alone and status.st_nlink > 1:
                self._drop_own_link(status)
            atomic.wait_for_writers(fd)
            content = read_all(fd)
        finally:
            os.close(fd)
        # When it came to be here; its own time may be that of an old copy someone put back.
        return Found(content, status.st_ctime)

    def _drop_own_link(self, status: os.stat_result) -> None:
        """A second name is ours, left by a write that failed, or a way out of the workspace."""
        ours = self.log.holds(status.st_ino)
        if ours is None or status.st_nlink > 2:
            raise Unsafe(
                self.scope.filename, "it is a hard link to a file elsewhere; copy it instead"
            )
        atomic.remove(self.log.folder, ours)

    def sync(self) -> None:
        """Make sure that the page as it is survives a power cut."""
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
            "time": stamp(self.clock()),
            "operation": change.operation,
            "actor": change.actor,
            "surface": change.surface,
            "reason": change.reason,
            "hash": state.hash if state else "",
            "bytes": len(state.content) if state else 0,
        }
