"""The folders of shelves, held open for a moment if many pages are read in a row.

The folder itself is held, not its name: a page below it is opened in one system call that follows
no link (`openat2`), and another folder that is put in its place is not read. Only a process that
reads many pages holds folders, and only on Linux. A page that cannot be opened in this way is
opened by its path, which also reports the reason.
"""

from __future__ import annotations

import os
import sys
import time

from looseleaf.files import atomic
from looseleaf.files.folders import MOMENT_SECONDS, NO_FILE, READ, open_page_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.memory.scope import Scope

    Opener = Callable[[int, str], int]
    ShelfKey = int | str

_MOST_HELD = 64
_MOST_SEEN = 4096
_MANY_READS = 64  # before this many, loading ctypes would take longer than it saves
_NEVER = float("-inf")  # not 0.0, where the clock of a machine starts
_FROM_HERE = -100  # AT_FDCWD
_OPENAT2 = 437  # on these machines; a few others number their system calls in their own way
_MACHINES = frozenset(("x86_64", "aarch64", "riscv64", "ppc64le", "s390x"))
_NO_LINKS, _BENEATH = 0x04, 0x08  # RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH


class OpenShelf:
    """The folder of a shelf, valid for a moment and open until nobody uses it."""

    __slots__ = ("fd", "open", "until")

    def __init__(self, fd: int, opener: Opener, until: float) -> None:
        self.fd, self.open, self.until = fd, opener, until

    def __del__(self) -> None:
        os.close(self.fd)


class OpenShelves:
    """The shelves of one root that are held, by the id of their agent or user, or their layer."""

    def __init__(self, root: str, is_folder_of: Callable[[int, int], bool]) -> None:
        self._root = root
        self._is_folder_of = is_folder_of
        self._shelves: dict[ShelfKey, OpenShelf] = {}
        self._last_opened: dict[ShelfKey, float] = {}  # when a page was last opened by its path

    def open_cached(self, shelf: ShelfKey, filename: str) -> int:
        """Open a page of a shelf that is held, or `NO_FILE` if it is not, or that fails."""
        open_shelf = self._shelves.get(shelf)
        if open_shelf is None or open_shelf.until < time.monotonic():
            return NO_FILE
        return open_shelf.open(open_shelf.fd, filename)

    def open(self, shelf: ShelfKey, scope: Scope, folder: str) -> int:
        """Open a page by the path of its shelf below the root, which was just looked up."""
        openers, now = _find_openers(), time.monotonic()
        if openers is not None and self._is_second_look(shelf, now):
            fd = self._take(openers, shelf, folder, scope)
            if fd >= 0:
                return fd
        return open_page_at(self._root, f"{folder}/{scope.filename}")

    def forget(self) -> None:
        """Release all folders; a read under way keeps its folder until the page is open."""
        self._shelves = {}

    def _is_second_look(self, shelf: ShelfKey, now: float) -> bool:
        """Return whether a shelf was looked at a moment ago, so that it is worth holding."""
        open_shelf = self._shelves.get(shelf)
        if open_shelf is not None and open_shelf.until >= now:
            return False  # a page that could not be opened there is opened by its path
        before = self._last_opened.get(shelf, _NEVER)
        if len(self._last_opened) >= _MOST_SEEN:
            self._last_opened.clear()
        self._last_opened[shelf] = now
        return now - before < MOMENT_SECONDS

    def _take(self, openers: _Openers, shelf: ShelfKey, folder: str, scope: Scope) -> int:
        """Hold a folder if no link leads there and it is the shelf's, and open a page in it."""
        # If `forget` runs meanwhile, the folder goes into the old dictionary, which nobody reads.
        shelves, until = self._shelves, time.monotonic() + MOMENT_SECONDS
        fd = openers.folder(_FROM_HERE, f"{self._root}/{folder}")
        if fd < 0:
            return NO_FILE
        open_shelf = OpenShelf(fd, openers.below, until)
        if scope.layer == "principal":
            return NO_FILE  # a folder within that of an agent is opened by its path
        if scope.agent_id and not self._is_folder_of(fd, scope.agent_id):
            return NO_FILE
        if len(shelves) >= _MOST_HELD:
            shelves.clear()
        shelves[shelf] = open_shelf
        return openers.below(fd, scope.filename)


class _Openers:
    """Functions that open folders, and pages below an open folder, and follow no link."""

    def __init__(self, build_opener: Callable[[int, int], Opener]) -> None:
        self.folder = build_opener(atomic.FOLDER, _NO_LINKS)
        self.below = build_opener(READ, _NO_LINKS | _BENEATH)


_reads = 0
_openers: _Openers | None = None


def _find_openers() -> _Openers | None:
    """Return the openers, once this process has read many pages."""
    global _reads, _openers  # noqa: PLW0603 - what a process can do is the same for all its stores
    if _reads < _MANY_READS:
        _reads += 1
        if _reads == _MANY_READS:
            _openers = _load_openers()
    return _openers


def _load_openers() -> _Openers | None:
    if sys.platform != "linux" or os.uname().machine not in _MACHINES:
        return None
    import ctypes

    call, encoding = ctypes.CDLL(None).syscall, sys.getfilesystemencoding()
    # Converted once: converting every argument in every call takes twice as long.
    number, open_how = ctypes.c_long(_OPENAT2), ctypes.c_uint64 * 3
    size = ctypes.c_size_t(ctypes.sizeof(open_how))

    def build_opener(flags: int, resolve: int) -> Opener:
        options = ctypes.byref(open_how(flags, 0, resolve))

        def open_path(folder: int, path: str) -> int:
            name = path.encode(encoding, "surrogateescape")
            return call(number, folder, name, options, size)  # type: ignore[no-any-return]

        return open_path

    openers = _Openers(build_opener)
    root_fd = openers.folder(_FROM_HERE, "/")
    if root_fd < 0:
        return None  # an older kernel, or a call that is not permitted
    os.close(root_fd)
    return openers
