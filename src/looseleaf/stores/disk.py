"""The disk store: pages as plain files below one root, compared, locked, kept and durable."""

from __future__ import annotations

import os
import time

from looseleaf.atomic import LOCK_SECONDS
from looseleaf.errors import LooseleafError, Unavailable, Unsafe
from looseleaf.folders import (
    READ,
    Reporting,
    check_regular,
    explained,
    inode_of,
    open_folder,
    open_page,
    read_all,
    stands_at,
)
from looseleaf.memory.history import Retention
from looseleaf.memory.scope import check_folder
from looseleaf.memory.store import ABSENT, Capabilities, Conflict, Found, Missing, Written
from looseleaf.stores import swap
from looseleaf.stores.cache import PageCache
from looseleaf.stores.listing import pages_below
from looseleaf.stores.page import (
    MAKING,
    STAGING,
    HeldPage,
    history_segments,
    scope_of_staged,
    staged_name,
)
from looseleaf.stores.recent import RecentWrites
from looseleaf.stores.revisions import PageLog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from looseleaf.memory.scope import Scope, Shelf
    from looseleaf.memory.store import Change, Deleted, Entry

    Outcome = TypeVar("Outcome")

PRIVATE = (0o600, 0o700)
GROUP = (0o660, 0o770)
_ATTEMPTS = 200
# Versions that have outlived their time go whenever a page has been written this many times.
_PRUNE_EVERY = 64


class DiskStore:
    """Pages as files: `shared/`, `agents/{slug}/`, `users/{id}/`, `network/` below a root."""

    capabilities = Capabilities(durable=True, history=True, outside_edits=True)

    def __init__(
        self,
        root: str,
        *,
        agent_folder: Callable[[int], str],
        group_writable: bool = False,
        retention: Retention = Retention(),  # noqa: B008 - a frozen value
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.root = os.path.realpath(root)
        self.modes = GROUP if group_writable else PRIVATE
        self.retention = retention
        self.clock = clock
        self._agent_folder = agent_folder
        self._device = -1
        self._cache = PageCache()
        self.recent = RecentWrites()

    def folder(self, shelf: Shelf) -> str:
        """Give the absolute path of the folder a shelf stands for."""
        return f"{self.root}/{self._relative(shelf)}"

    def path(self, scope: Scope) -> str:
        """Give the absolute path of the file a page is."""
        return f"{self.folder(scope.shelf)}/{scope.filename}"

    def _relative(self, place: Shelf | Scope) -> str:
        if place.layer == "agent":
            return f"agents/{self._agent_folder(place.agent_id)}"
        return f"users/{place.user_id}" if place.layer == "user" else place.layer

    def read(self, scope: Scope) -> Found | Missing:
        """Read a page; one that has not changed on disk since is given again from memory."""
        path = f"{self._relative(scope)}/{scope.filename}"
        return self._cache.unchanged(f"{self.root}/{path}") or self._read_anew(scope, path)

    def _read_anew(self, scope: Scope, path: str) -> Found | Missing:
        try:
            fd = self._open(path)
        except FileNotFoundError:
            self._require_root()
            return Missing()
        except OSError as error:
            raise explained(scope.filename, error) from error
        try:
            with Reporting(scope.filename):
                asked = time.time_ns()
                status = os.fstat(fd)
                if status.st_dev != self._device:  # known, unless another was mounted at the root
                    self._device = os.lstat(self.root).st_dev
                check_regular(scope.filename, status, self._device)
                if status.st_nlink > 1:
                    self._require_own_links(scope, fd)
                found = Found(read_all(fd, status.st_size), status.st_mtime)
        finally:
            os.close(fd)
        self._cache.remember(f"{self.root}/{path}", found, status=status, asked=asked)
        return found

    def _open(self, path: str) -> int:
        """Open a page: in one step where that can be proved safe, else part by part."""
        full = f"{self.root}/{path}"
        try:
            fd = os.open(full, READ)
        except OSError as error:
            if isinstance(error, FileNotFoundError):
                raise
        else:
            if stands_at(fd, full):
                return fd
            os.close(fd)
        root = self.open_root()
        try:
            return open_page(root, path)
        finally:
            os.close(root)

    def _require_root(self) -> None:
        if not os.path.isdir(self.root):
            raise Unavailable("The workspace", f"there is no folder {self.root}")

    def _require_own_links(self, scope: Scope, fd: int) -> None:
        """A page has one name, or a second one of ours while it is being made or replaced."""
        for _ in range(3):
            status = os.fstat(fd)
            if status.st_nlink <= 1 or self._is_staged(scope, status.st_ino):
                return
            log = self.log(scope)
            if log is not None:
                try:
                    if log.holds(status.st_ino) is not None:
                        return
                finally:
                    os.close(log.folder)
        raise Unsafe(scope.filename, "it is a hard link to a file elsewhere; copy it instead")

    def _is_staged(self, scope: Scope, inode: int) -> bool:
        staging = self.open_own(*STAGING.split("/"))
        if staging is None:
            return False
        try:
            staged = staged_name(scope)
            return inode in (inode_of(staging, staged + MAKING), inode_of(staging, staged))
        finally:
            os.close(staging)

    def log(self, scope: Scope) -> PageLog | None:
        """Open the history of a page for reading; the caller closes its folder."""
        folder = self.open_own(*history_segments(scope))
        return None if folder is None else PageLog(folder, scope.filename)

    def open_own(self, *segments: str) -> int | None:
        """Open a folder below the root, if it is there; the caller closes it."""
        root = self.open_root()
        try:
            return open_folder(root, segments)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise explained("/".join(segments), error) from error
        finally:
            os.close(root)

    def open_root(self) -> int:
        """Open the folder that everything lies in; the caller closes it."""
        try:
            return os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            raise Unavailable("The workspace", f"there is no folder {self.root}") from None
        except OSError as error:
            raise explained("The workspace", error) from error

    def exists(self, scope: Scope) -> bool:
        """Say whether there is such a page."""
        return isinstance(self.read(scope), Found)

    def write(
        self, scope: Scope, content: bytes, *, if_match: str | None = None, change: Change
    ) -> Written | Conflict:
        """Replace a page, or create it; with `if_match`, only that version (or `ABSENT`)."""

        def attempt(page: HeldPage, current: Found | None) -> Written | Conflict:
            actual = current.hash if current else ""
            expected = "" if if_match == ABSENT else if_match
            if expected is not None and expected != actual:
                return Conflict(expected, actual)
            return self._put(page, current, content, change)

        if if_match in (None, ABSENT):
            return self.held(scope, attempt)
        return self.held(scope, attempt, absent=lambda: Conflict(if_match or "", ""))

    def edit(
        self, scope: Scope, edit: Callable[[bytes | None], bytes], *, change: Change
    ) -> Written:
        """Replace a page by what `edit` makes of its current bytes, under the page's lock."""

        def attempt(page: HeldPage, current: Found | None) -> Written:
            return self._put(page, current, edit(current.content if current else None), change)

        return self.held(scope, attempt)

    def delete(
        self, scope: Scope, *, if_match: str | None = None, change: Change
    ) -> Deleted | Missing | Conflict:
        """Remove a page; its bytes stay in the history."""

        def attempt(page: HeldPage, current: Found | None) -> Deleted | Missing | Conflict:
            if if_match is not None and if_match != (current.hash if current else ""):
                return Conflict(if_match, current.hash if current else "")
            return swap.delete(page, current, change) if current else Missing()

        def absent() -> Deleted | Missing | Conflict:
            return Missing() if if_match is None else Conflict(if_match, "")

        return self.held(scope, attempt, absent=absent)

    def _put(
        self, page: HeldPage, current: Found | None, content: bytes, change: Change
    ) -> Written:
        if current is not None and current.content == content:
            page.sync()  # it may be there since a moment ago, by someone who did not
            return Written(current.hash, len(content), current.hash, changed=False)
        written = swap.replace(page, current, content, change)
        if written.revision % _PRUNE_EVERY == 0:
            self._prune(page, content, written.revision)
        return written

    def _prune(self, page: HeldPage, present: bytes, newest: int) -> None:
        try:
            # The whole log is read and written anew: the longer it is, the rarer it is its turn.
            turns = (newest - page.log.first()) // _PRUNE_EVERY
            if newest // _PRUNE_EVERY % (1 << max(0, turns.bit_length() - 2)):
                return
            page.log.prune(self.retention, self.clock(), present=present, mode=self.modes[0])
        except (OSError, Unavailable):
            return  # the write is done and durable; a later one prunes

    def held(
        self,
        scope: Scope,
        attempt: Callable[[HeldPage, Found | None], Outcome],
        *,
        absent: Callable[[], Outcome] | None = None,
        patience: float = LOCK_SECONDS,
    ) -> Outcome:
        """Hold the page's lock and try until no outside edit comes in between.

        `absent` gives the answer where there is no page, and nothing is made then.
        """
        path = f"{self._relative(scope)}/{scope.filename}"
        if absent and not (os.path.lexists(f"{self.root}/{path}") or self.exists(scope)):
            return absent()
        with (
            Reporting(scope.filename),
            HeldPage(self, path, scope, patience) as page,
        ):
            if not patience or page.is_left_over():  # who does not wait has come to clear up
                swap.tidy(page)
            for _ in range(_ATTEMPTS):
                try:
                    return attempt(page, page.current())
                except swap.Retry:
                    continue
        raise Unavailable(scope.filename, "another program keeps changing it; try again")

    def list_layer(self, shelf: Shelf) -> list[Entry]:
        """List the pages that stand directly on a shelf, by name."""
        return self._listed(shelf, "", deep=False)

    def list_subtree(self, shelf: Shelf, prefix: str) -> list[Entry]:
        """List the pages below a folder of a shelf (all of them for ""), by full name."""
        return self._listed(shelf, prefix, deep=True)

    def _listed(self, shelf: Shelf, prefix: str, *, deep: bool) -> list[Entry]:
        relative = self._relative(shelf)
        if prefix:
            relative = f"{relative}/{check_folder(prefix)}"
        with Reporting(relative):
            folder = self.open_own(*relative.split("/"))
            if folder is None:
                return []
            return pages_below(folder, f"{prefix}/" if prefix else "", deep=deep)

    def recover(self) -> int:
        """Clear up what processes that died in the middle of a write left; give how many pages."""
        try:
            staged = os.listdir(f"{self.root}/{STAGING}")
        except OSError:
            return 0
        recovered = 0
        for name in staged:
            scope = scope_of_staged(name.removesuffix(MAKING))
            if scope is not None:
                try:
                    self.held(scope, lambda _page, _current: None, patience=0)
                except LooseleafError:
                    continue  # a page of an agent that is gone, or one that is being written now
                recovered += 1
        return recovered
