"""The disk store: pages as plain files below one root, with locks, history and durable writes."""

from __future__ import annotations

import os
import time

from looseleaf.errors import Conflicted, LooseleafError, Unavailable, Unsafe
from looseleaf.files.atomic import LOCK_SECONDS
from looseleaf.files.folders import (
    GROUP,
    NO_FILE,
    PRIVATE,
    OsErrorContext,
    check_regular,
    explain_os_error,
    open_folder,
    read_all,
)
from looseleaf.files.root_folder import RootFolder
from looseleaf.memory.scope import check_folder, is_of_principal
from looseleaf.memory.store import (
    ABSENT,
    Capabilities,
    Conflict,
    Found,
    Missing,
    Retention,
    require_condition,
)
from looseleaf.stores.disk.agents import DiskAgents
from looseleaf.stores.disk.listing import (
    MAKING,
    STAGING,
    history_path_of,
    list_pages,
    parse_staged_name,
)
from looseleaf.stores.disk.shelf_folders import OpenShelves
from looseleaf.stores.disk.store_folder import PageCache, RecentWrites

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from looseleaf.memory.scope import Scope, Shelf
    from looseleaf.memory.store import Change, Deleted, PageEntry, Written
    from looseleaf.settings import Settings
    from looseleaf.stores.disk.history.revisions import PageLog
    from looseleaf.stores.disk.locked_page import LockedPage

    Outcome = TypeVar("Outcome")


_ATTEMPTS = 200


class DiskStore:
    """Pages as files: `shared/`, `agents/{slug}/`, `users/{id}/`, `network/` below a root.

    What an agent knows about one user lies in `agents/{slug}/users/{id}/`.
    """

    capabilities = Capabilities(
        durable=True, outside_edits=True, agent_folders=True, paths=True, preconditions=True
    )

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
        self.recent_writes = RecentWrites()

    def folder(self, shelf: Shelf) -> str:
        """Return the absolute path of a shelf's folder, for code that reads without the store."""
        self.release()
        return f"{self.root}/{self._folder_of(shelf)}"

    def path(self, scope: Scope) -> str:
        """Return the absolute path of the file of a page."""
        return f"{self.folder(scope.shelf)}/{scope.filename}"

    def _folder_of(self, place: Shelf | Scope) -> str:
        if place.layer == "agent":
            return f"agents/{self._agent_folder(place.agent_id)}"
        if place.layer == "principal":
            return f"agents/{self._agent_folder(place.agent_id)}/users/{place.user_id}"
        return f"users/{place.user_id}" if place.layer == "user" else place.layer

    def read(self, scope: Scope) -> Found | Missing:
        """Read a page; a page whose file has not changed is given from memory.

        If many pages are read in a row, the folder of their shelf is looked up once in 50 ms.
        """
        # Ids are positive numbers, so that one number or the layer identifies most shelves.
        shelf: int | str = scope.agent_id or -scope.user_id or scope.layer
        if scope.user_id and scope.agent_id:
            shelf = scope.shelf_name
        key = (shelf, scope.filename)
        entry = self._cache.pages.get(key)
        if entry is not None:
            path = f"{self.root}/{self._folder_of(scope)}/{scope.filename}"
            if entry.is_unchanged(path):
                return entry.page
        fd = self._shelves.open_cached(shelf, scope.filename)
        if fd < 0:
            fd = self._open(shelf, scope)
            if fd < 0:
                return Missing()
        try:
            read_time = time.time_ns()
            status = os.fstat(fd)
            if status.st_dev != self._device:  # equal, unless another disk was mounted at the root
                self._device = self.root_folder.require()
            check_regular(scope.filename, status, self._device)
            if status.st_nlink > 1:
                self._require_own_links(scope, fd)
            page = Found(read_all(fd, status.st_size), status.st_mtime)
        except LooseleafError:
            raise
        except OSError as error:
            raise explain_os_error(scope.filename, error) from error
        finally:
            os.close(fd)
        self._cache.remember(key, page, status=status, read_time=read_time)
        return page

    def _open(self, shelf: int | str, scope: Scope) -> int:
        """Open a page in the folder its shelf has now, or `NO_FILE` if there is none."""
        folder = self._folder_of(scope)
        try:
            return self._shelves.open(shelf, scope, folder)
        except LooseleafError:
            raise
        except FileNotFoundError:
            self.root_folder.require()  # if the workspace is gone, nothing is known of the page
            return NO_FILE
        except OSError as error:
            self.root_folder.require()
            raise explain_os_error(scope.filename, error) from error

    def _require_own_links(self, scope: Scope, fd: int) -> None:
        """Refuse a page with a second name, unless the name is our own, during a write."""
        from looseleaf.stores.disk.locked_page import is_staged

        for _ in range(3):
            status = os.fstat(fd)
            if status.st_nlink <= 1 or is_staged(self, scope, status.st_ino):
                return
            log = self.log(scope)
            if log is not None:
                try:
                    if log.find_file(status.st_ino) is not None:
                        return
                finally:
                    os.close(log.folder)
        raise Unsafe(scope.filename, "it is a hard link to a file elsewhere; copy it instead")

    def log(self, scope: Scope) -> PageLog | None:
        """Open the history of a page for reading; the caller closes its folder."""
        from looseleaf.stores.disk.history.revisions import PageLog

        folder = self.open_own(*history_path_of(scope).split("/"))
        return None if folder is None else PageLog(folder, scope.filename)

    def open_own(self, *segments: str) -> int | None:
        """Open a folder below the root, if it is there; the caller closes it."""
        root = self.root_folder.open()
        try:
            return open_folder(root, segments)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise explain_os_error("/".join(segments), error) from error
        finally:
            os.close(root)

    def release(self) -> None:
        """Release all folders: later reads look for the folder of a shelf again.

        Code that looks for a folder by its path calls this first, to see the same as later reads.
        """
        self._shelves.forget()

    def exists(self, scope: Scope) -> bool:
        """Return whether there is such a page."""
        return isinstance(self.read(scope), Found)

    def write(
        self, scope: Scope, content: bytes, *, if_match: str | None = None, change: Change
    ) -> Written | Conflict:
        """Replace a page, or create it; with `if_match`, only that version (or `ABSENT`)."""
        from looseleaf.stores.disk.page_changes import put

        def attempt(page: LockedPage, current: Found | None) -> Written | Conflict:
            actual = current.hash if current else ""
            expected = "" if if_match == ABSENT else if_match
            if expected is not None and expected != actual:
                return Conflict(expected, actual)
            return put(self, page, current, content, change)

        if if_match in (None, ABSENT):
            return self.run_locked(scope, attempt)
        return self.run_locked(scope, attempt, on_absent=lambda: Conflict(if_match or "", ""))

    def edit(
        self, scope: Scope, edit: Callable[[bytes | None], bytes], *, change: Change
    ) -> Written:
        """Replace a page by the result of `edit` on its current bytes, under the page's lock.

        Raises `Conflicted` if the change must not replace the current version; no file is
        created for a page that must exist and does not.
        """
        from looseleaf.stores.disk.page_changes import put

        guard = change.precondition

        def attempt(page: LockedPage, current: Found | None) -> Written:
            if guard is not None:
                require_condition(scope, change, current.hash if current else "")
            content = edit(current.content if current else None)
            return put(self, page, current, content, change)

        def refuse_absent() -> Written:
            raise Conflicted(scope.filename, guard.expected if guard else "", "")

        must_exist = guard is not None and not guard.holds("")
        return self.run_locked(scope, attempt, on_absent=refuse_absent if must_exist else None)

    def delete(
        self, scope: Scope, *, if_match: str | None = None, change: Change
    ) -> Deleted | Missing | Conflict:
        """Remove a page; its bytes stay in the history."""
        from looseleaf.stores.disk.page_changes import delete

        def attempt(page: LockedPage, current: Found | None) -> Deleted | Missing | Conflict:
            if if_match is not None and if_match != (current.hash if current else ""):
                return Conflict(if_match, current.hash if current else "")
            return delete(page, current, change) if current else Missing()

        def answer_absent() -> Deleted | Missing | Conflict:
            return Missing() if if_match is None else Conflict(if_match, "")

        return self.run_locked(scope, attempt, on_absent=answer_absent)

    def discard_agent(self, agent_id: int, slug: str) -> None:
        """Remove the files of an agent that was never finished."""
        from looseleaf.stores.disk.page_changes import discard_agent

        discard_agent(self, agent_id, slug)

    def run_locked(
        self,
        scope: Scope,
        attempt: Callable[[LockedPage, Found | None], Outcome],
        *,
        on_absent: Callable[[], Outcome] | None = None,
        patience: float = LOCK_SECONDS,
    ) -> Outcome:
        """Hold the page's lock and try until no outside edit comes in between.

        `on_absent` returns the answer if there is no page; then no file is created.
        """
        from looseleaf.stores.disk.locked_page import LockedPage
        from looseleaf.stores.disk.page_changes import PageChangedMeanwhile, clear_up

        self.root_folder.require()  # before a file is created in a folder that is not the workspace
        path = f"{self._folder_of(scope)}/{scope.filename}"
        if on_absent and not (os.path.lexists(f"{self.root}/{path}") or self.exists(scope)):
            return on_absent()
        with OsErrorContext(scope.filename), LockedPage(self, path, scope, patience) as page:
            # `recover` does not wait for the lock, and comes to clear up.
            if not patience or page.is_left_over():
                clear_up(page)
            for _ in range(_ATTEMPTS):
                try:
                    return attempt(page, page.current())
                except PageChangedMeanwhile:
                    continue
        raise Unavailable(scope.filename, "another program keeps changing it; try again")

    def list_layer(self, shelf: Shelf) -> list[PageEntry]:
        """List the pages that stand directly on a shelf, by name."""
        return self._list_pages(shelf, "", deep=False)

    def list_subtree(self, shelf: Shelf, prefix: str) -> list[PageEntry]:
        """List the pages below a folder of a shelf (all of them for ""), by full name."""
        return self._list_pages(shelf, prefix, deep=True)

    def _list_pages(self, shelf: Shelf, prefix: str, *, deep: bool) -> list[PageEntry]:
        self.release()
        relative = self._folder_of(shelf)
        if prefix:
            relative = f"{relative}/{check_folder(prefix)}"
        with OsErrorContext(relative):
            folder = self.open_own(*relative.split("/"))
            if folder is None:
                return []
            entries = list_pages(folder, f"{prefix}/" if prefix else "", deep=deep)
        if shelf.layer == "agent":  # the pages about people in its folder are on other shelves
            return [entry for entry in entries if not is_of_principal(entry.filename)]
        return entries

    def recover(self) -> int:
        """Clear up after processes that died in the middle of a write; count the pages."""
        try:
            staged_names = os.listdir(f"{self.root}/{STAGING}")
        except OSError:
            return 0
        count = 0
        for name in staged_names:
            scope = parse_staged_name(name.removesuffix(MAKING))
            if scope is not None:
                try:
                    self.run_locked(scope, lambda _page, _current: None, patience=0)
                except LooseleafError:
                    continue  # a page of an agent that is gone, or one that is being written now
                count += 1
        return count


# A workspace on a disk, opened: its agents and its pages, wired together.


def open_disk(
    root_folder: RootFolder, settings: Settings, clock: Callable[[], float]
) -> tuple[DiskAgents, DiskStore]:
    """Open the agents and the pages of a folder; each follows the changes of the other."""
    modes = GROUP if settings.group_writable else PRIVATE
    agents = DiskAgents(root_folder, default=settings.default_agent, modes=modes, clock=clock)
    store = DiskStore(
        root_folder,
        agent_folder=agents.slug_of,
        is_folder_of=agents.is_folder_of,
        group_writable=settings.group_writable,
        retention=Retention(settings.retention_days, settings.retention_versions),
        clock=clock,
    )
    agents.on_move(store.release)
    agents.on_discard(store.discard_agent)
    return agents, store
