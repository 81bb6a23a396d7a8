"""The folders of shelves, held open for a moment where many pages are read in a row.

What is held is the folder itself, not its name: a page below it is opened in one system call that
follows no link (`openat2`), and whoever moves the folder away and puts another in its place does
not get the other one read. Only a process that reads many pages holds any, and only on Linux.
Whatever cannot be opened so is opened the long way, which also says what is wrong.
"""

from __future__ import annotations

import os
import sys
import time

from looseleaf import atomic
from looseleaf.folders import MOMENT_SECONDS, NO_FILE, READ, open_page_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.memory.scope import Scope

    Opening = Callable[[int, str], int]
    ShelfKey = int | str

_MOST_HELD = 64
_MOST_SEEN = 4096
_MANY_READS = 64  # before this many, loading ctypes would take longer than it spares
_NEVER = float("-inf")  # not 0.0: the clock of a machine starts there
_FROM_HERE = -100  # AT_FDCWD
_OPENAT2 = 437  # on these machines; a few others number their system calls in their own way
_MACHINES = frozenset(("x86_64", "aarch64", "riscv64", "ppc64le", "s390x"))
_NO_LINKS, _BENEATH = 0x04, 0x08  # RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH


class OpenShelf:
    """The folder of a shelf, good until a moment has passed and open until nobody uses it."""

    __slots__ = ("fd", "open", "until")

    def __init__(self, fd: int, opening: Opening, until: float) -> None:
        self.fd, self.open, self.until = fd, opening, until

    def __del__(self) -> None:
        os.close(self.fd)


class OpenShelves:
    """The shelves of one root that are held, by the id of their agent or user, or their layer."""

    def __init__(self, root: str, is_folder_of: Callable[[int, int], bool]) -> None:
        self._root = root
        self._is_folder_of = is_folder_of
        self._held: dict[ShelfKey, OpenShelf] = {}
        self._seen: dict[ShelfKey, float] = {}  # when a page was last opened by its path

    def open_held(self, shelf: ShelfKey, filename: str) -> int:
        """Open a page of a shelf that is held; `NO_FILE` where it is not, or that fails."""
        held = self._held.get(shelf)
        if held is None or held.until < time.monotonic():
            return NO_FILE
        return held.open(held.fd, filename)

    def open(self, shelf: ShelfKey, scope: Scope, folder: str) -> int:
        """Open a page by the path of its shelf below the root, which was looked at just now."""
        ways, now = _ways(), time.monotonic()
        if ways is not None and self._is_second_look(shelf, now):
            fd = self._take(ways, shelf, folder, scope)
            if fd >= 0:
                return fd
        return open_page_at(self._root, f"{folder}/{scope.filename}")

    def forget(self) -> None:
        """Hold nothing any more; who is just reading keeps the folder until the page is open."""
        self._held = {}

    def _is_second_look(self, shelf: ShelfKey, now: float) -> bool:
        """Say whether a shelf was looked at a moment ago, so that it is worth holding."""
        held = self._held.get(shelf)
        if held is not None and held.until >= now:
            return False  # what could not be opened there is looked for by its path
        before = self._seen.get(shelf, _NEVER)
        if len(self._seen) >= _MOST_SEEN:
            self._seen.clear()
        self._seen[shelf] = now
        return now - before < MOMENT_SECONDS

    def _take(self, ways: _Ways, shelf: ShelfKey, folder: str, scope: Scope) -> int:
        """Hold a folder if no link leads there and it is the shelf's, and open a page in it."""
        # What is forgotten while this goes on must not come back, and goes where nobody looks.
        held, until = self._held, time.monotonic() + MOMENT_SECONDS
        fd = ways.folder(_FROM_HERE, f"{self._root}/{folder}")
        if fd < 0:
            return NO_FILE
        taken = OpenShelf(fd, ways.below, until)
        if scope.agent_id and not self._is_folder_of(fd, scope.agent_id):
            return NO_FILE
        if len(held) >= _MOST_HELD:
            held.clear()
        held[shelf] = taken
        return ways.below(fd, scope.filename)


class _Ways:
    """What the system opens if no link leads there: folders, and pages below an open folder."""

    def __init__(self, opening: Callable[[int, int], Opening]) -> None:
        self.folder = opening(atomic.FOLDER, _NO_LINKS)
        self.below = opening(READ, _NO_LINKS | _BENEATH)


_reads = 0
_loaded: _Ways | None = None


def _ways() -> _Ways | None:
    """Give the ways to open something, once this process has read many pages."""
    global _reads, _loaded  # noqa: PLW0603 - what a process can do is the same for all its stores
    if _reads < _MANY_READS:
        _reads += 1
        if _reads == _MANY_READS:
            _loaded = _load()
    return _loaded


def _load() -> _Ways | None:
    if sys.platform != "linux" or os.uname().machine not in _MACHINES:
        return None
    import ctypes

    call, encoding = ctypes.CDLL(None).syscall, sys.getfilesystemencoding()
    # Made once, with their types: that takes half the time of having each argument converted.
    number, how = ctypes.c_long(_OPENAT2), ctypes.c_uint64 * 3
    size = ctypes.c_size_t(ctypes.sizeof(how))

    def opening(flags: int, resolve: int) -> Opening:
        chosen = ctypes.byref(how(flags, 0, resolve))

        def opened(folder: int, path: str) -> int:
            name = path.encode(encoding, "surrogateescape")
            return call(number, folder, name, chosen, size)  # type: ignore[no-any-return]

        return opened

    ways = _Ways(opening)
    there = ways.folder(_FROM_HERE, "/")
    if there < 0:
        return None  # an older kernel, or one that must not be asked
    os.close(there)
    return ways
