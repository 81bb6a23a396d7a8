"""The disk store: pages as plain files below one root, compared, locked, kept and durable."""

from __future__ import annotations

import os
import time

from looseleaf.atomic import LOCK_SECONDS
from looseleaf.errors import LooseleafError, Unavailable, Unsafe
from looseleaf.folders import (
    NO_FILE,
    Reporting,
    check_regular,
    explained,
    open_folder,
    read_all,
)
from looseleaf.memory.history import Retention, outlived
from looseleaf.memory.scope import check_folder
from looseleaf.memory.store import ABSENT, Capabilities, Conflict, Found, Missing, Written
from looseleaf.root import RootFolder
from looseleaf.stores import swap
from looseleaf.stores.cache import PageCache
from looseleaf.stores.listing import pages_below
from looseleaf.stores.page import (
    MAKING,
    STAGING,
    HeldPage,
    history_segments,
    is_staged,
    scope_of_staged,
)
from looseleaf.stores.recent import RecentWrites
from looseleaf.stores.revisions import PageLog
from looseleaf.stores.shelves import OpenShelves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from looseleaf.memory.scope import Scope, Shelf
    from looseleaf.memory.store import Change, Deleted, Entry

    Outcome = TypeVar("Outcome")

PRIVATE = (0o600, 0o700)
GROUP = (0o660, 0o2770)  # what is made in a folder belongs to the folder's group, too
_ATTEMPTS = 200
# Versions that have outlived their time go whenever a page has been written this many times.
_PRUNE_EVERY = 64


class DiskStore:
    """Pages as files: `shared/`, `agents/{slug}/`, `users/{id}/`, `network/` below a root."""

    capabilities = Capabilities(durable=True, history=True, outside_edits=True, agent_folders=True)

    def __init__(
        self,
        root: str | RootFolder,
        *,
        agent_folder: Callable[[int], str],
        is_folder_of: Callable[[int, int], bool] = lambda _folder, _agent: True,
        group_writable: bool = False,
        retention: Retention = Retention(),  # noqa: B008 - a frozen value
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.root_folder = RootFolder(root) if isinstance(root, str) else root
        self.root = self.root_folder.path
        self.modes = GROUP if group_writable else PRIVATE
        self.retention = retention
        self.clock = clock
        self._agent_folder = agent_folder
        self._device = -1
        self._cache = PageCache()
        self._shelves = OpenShelves(self.root, is_folder_of)
        self.recent = RecentWrites()

    def folder(self, shelf: Shelf) -> str:
        """Give the absolute path of the folder a shelf stands for, to be looked at from outside."""
        self.release()
        return f"{self.root}/{self._relative(shelf)}"

    def path(self, scope: Scope) -> str:
        """Give the absolute path of the file a page is."""
        return f"{self.folder(scope.shelf)}/{scope.filename}"

    def _relative(self, place: Shelf | Scope) -> str:
        if place.layer == "agent":
            return f"agents/{self._agent_folder(place.agent_id)}"
        return f"users/{place.user_id}" if place.layer == "user" else place.layer

    def read(self, scope: Scope) -> Found | Missing:
        """Read a page; one that has not changed on disk since is given again from memory.

        Where many are read in a row, it is looked for the folder of their shelf once in 50 ms.
        """
        # Ids are positive numbers, so that one number or the layer tells which shelf is meant.
        shelf = scope.agent_id or -scope.user_id or scope.layer
        key = (shelf, scope.filename)
        if key in self._cache.pages:
            path = f"{self.root}/{self._relative(scope)}/{scope.filename}"
            if (found := self._cache.unchanged(key, path)) is not None:
                return found
        fd = self._shelves.open_held(shelf, scope.filename)
        if fd < 0:
            fd = self._open(shelf, scope)
            if fd < 0:
                return Missing()
        try:
            asked = time.time_ns()
            status = os.fstat(fd)
            if status.st_dev != self._device:  # known, unless another was mounted at the root
                self._device = self.root_folder.require()
            check_regular(scope.filename, status, self._device)
            if status.st_nlink > 1:
                self._require_own_links(scope, fd)
            found = Found(read_all(fd, status.st_size), status.st_mtime)
        except LooseleafError:
            raise
        except OSError as error:
            raise explained(scope.filename, error) from error
        finally:
            os.close(fd)
        self._cache.remember(key, found, status=status, asked=asked)
        return found

    def _open(self, shelf: int | str, scope: Scope) -> int:
        """Open a page in the folder its shelf has now; `NO_FILE` where there is none."""
        folder = self._relative(scope)
        try:
            return self._shelves.open(shelf, scope, folder)
        except LooseleafError:
            raise
        except FileNotFoundError:
            self.root_folder.require()  # where it is gone, nothing is known of the page
            return NO_FILE
        except OSError as error:
            self.root_folder.require()
            raise explained(scope.filename, error) from error

    def _require_own_links(self, scope: Scope, fd: int) -> None:
        """A page has one name, or a second one of ours while it is being made or replaced."""
        for _ in range(3):
            status = os.fstat(fd)
            if status.st_nlink <= 1 or is_staged(self, scope, status.st_ino):
                return
            log = self.log(scope)
            if log is not None:
                try:
                    if log.holds(status.st_ino) is not None:
                        return
                finally:
                    os.close(log.folder)
        raise Unsafe(scope.filename, "it is a hard link to a file elsewhere; copy it instead")

    def log(self, scope: Scope) -> PageLog | None:
        """Open the history of a page for reading; the caller closes its folder."""
        folder = self.open_own(*history_segments(scope))
        return None if folder is None else PageLog(folder, scope.filename)

    def open_own(self, *segments: str) -> int | None:
        """Open a folder below the root, if it is there; the caller closes it."""
        root = self.root_folder.open()
        try:
            return open_folder(root, segments)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise explained("/".join(segments), error) from error
        finally:
            os.close(root)

    def release(self) -> None:
        """Hold no folder: what is read from now on lies where its shelf is from now on.

        So does whatever looks for a folder by its path, and sees the same pages as later reads.
        """
        self._shelves.forget()

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
            now = self.clock()
            page.log.prune(
                lambda revisions: outlived(revisions, self.retention, now),
                present=present,
                mode=self.modes[0],
            )
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
        self.root_folder.require()  # before anything is made in a folder that is not the workspace
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
        self.release()
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
