"""Reading, purging and pruning the versions that the disk store keeps."""

from __future__ import annotations

import os

from looseleaf import atomic
from looseleaf.errors import RevisionMissing
from looseleaf.folders import Reporting
from looseleaf.memory.history import Retention, Revision, ShownTime, outlived
from looseleaf.memory.store import Change, Found
from looseleaf.stores.page import HISTORY, HeldPage, scope_of_staged, shelf_named
from looseleaf.stores.revisions import LOG, revision_of, stamp, stand_alone
from looseleaf.stores.splice import is_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.memory.history import PageVerdict
    from looseleaf.memory.scope import Scope, Shelf
    from looseleaf.stores.disk import DiskStore
    from looseleaf.stores.revisions import PageLog


class DiskHistory:
    """The prior versions of pages on a disk store."""

    def __init__(self, store: DiskStore) -> None:
        self.store = store

    def revisions(self, scope: Scope) -> list[Revision]:
        """List what a page was, oldest first; the last one is what it is now.

        An outside edit that no write has come upon yet is the last one, under the number it
        will get.
        """
        log = self.store.log(scope)
        if log is None:
            return self._with_present(scope, [])
        try:
            with Reporting(f"The history of {scope.filename}"):
                known = _revisions(log)
                shown = self._with_present(scope, known)
                if shown is not known:  # changed outside, or by a write that has not logged it yet
                    atomic.lock(log.folder, scope.filename)
                    shown = self._with_present(scope, _revisions(log))
                return shown
        finally:
            os.close(log.folder)

    def latest(self, scope: Scope) -> Revision | None:
        """Give the change that made a page what it is now; None where it never was."""
        log = self.store.log(scope)
        if log is None:
            shown = self._with_present(scope, [])
            return shown[-1] if shown else None
        try:
            with Reporting(f"The history of {scope.filename}"):
                newest = log.newest()
            known = [revision_of(newest, kept=True)] if newest else []
            if self._with_present(scope, known) is known and known:
                return known[-1]
        finally:
            os.close(log.folder)
        shown = self.revisions(scope)
        return shown[-1] if shown else None

    def _with_present(self, scope: Scope, known: list[Revision]) -> list[Revision]:
        page = self.store.read(scope)
        last = known[-1] if known else None
        if (page.hash if isinstance(page, Found) else "") == (last.hash if last else ""):
            return known
        now = self.store.clock()
        seen, size, updated = "", 0, now
        if isinstance(page, Found):
            seen, size, updated = page.hash, len(page.content), min(page.updated, now)
        number = last.number + 1 if last else 1
        earliest = last.time if last else 0.0
        about = ("outside", "", "disk", "changed outside Looseleaf")
        return [*known, Revision(number, max(updated, earliest), *about, seen, size)]

    def content(self, scope: Scope, number: int) -> bytes | None:
        """Read the bytes of one revision; None where the page was deleted by it."""
        revisions = self.revisions(scope)
        chosen = next((one for one in revisions if one.number == number), None)
        if chosen is None:
            raise RevisionMissing(scope.filename, number)
        if not chosen.hash:
            return None
        if chosen is revisions[-1]:
            page = self.store.read(scope)
            if isinstance(page, Found) and page.hash == chosen.hash:
                return page.content
        content = self._prior(scope, number)
        if content is None:
            why = "its content was overwritten outside Looseleaf or is no longer kept"
            raise RevisionMissing(scope.filename, number, chosen.purged or why)
        return content

    def _prior(self, scope: Scope, number: int) -> bytes | None:
        log = self.store.log(scope)
        if log is None:
            return None
        try:
            with Reporting(f"The history of {scope.filename}"):
                lines = [line for line in log.lines() if line.get("revision") == number]
                return log.version(lines[0]) if lines else None
        finally:
            os.close(log.folder)

    def purge(self, scope: Scope, number: int, *, change: Change) -> None:
        """Remove the content of one prior revision for good, and record that it happened."""
        revisions = self.revisions(scope)
        if all(one.number != number for one in revisions):
            raise RevisionMissing(scope.filename, number)
        if revisions[-1].number == number:
            why = "it is what the page says now; change the page first, then purge"
            raise RevisionMissing(scope.filename, number, why)

        def attempt(page: HeldPage, current: Found | None) -> None:
            newest = page.note(current)
            lines = page.log.lines()
            if current is not None and number == newest - 1:
                stand_alone(lines, current.content)
            for line in lines:
                if line.get("revision") == number:
                    line.pop("redo", None)
            atomic.remove(page.log.folder, str(number))
            note = {
                "purged": number,
                "time": stamp(self.store.clock()),
                "actor": change.actor,
                "surface": change.surface,
                "reason": change.reason,
            }
            page.log.rewrite([*lines, note], mode=page.file_mode)

        self.store.held(scope, attempt)

    def prune(self, shelf: Shelf, retention: Retention) -> int:
        """Drop the versions a retention no longer keeps; give how many went."""
        known = {name: self.revisions(shelf.page(name)) for name in self.pages(shelf)}
        times = (revision.time for revisions in known.values() for revision in revisions)
        now = self.store.clock()
        shown = ShownTime(times, now, retention)
        return sum(
            self._prune(shelf.page(name), retention, now, shown)
            for name, revisions in known.items()
            if outlived(revisions, retention, now, shown)
        )

    def _prune(self, scope: Scope, retention: Retention, now: float, shown: ShownTime) -> int:
        def choose(revisions: list[Revision]) -> list[Revision]:
            return outlived(revisions, retention, now, shown)

        def attempt(page: HeldPage, current: Found | None) -> int:
            page.note(current)
            present = current.content if current else b""
            return page.log.prune(choose, present=present, mode=page.file_mode)

        return self.store.held(scope, attempt)

    def pages(self, shelf: Shelf) -> list[str]:
        """Name every page of a shelf that has a history, deleted ones too."""
        folder = self.store.open_own(*HISTORY.split("/"), shelf.name)
        if folder is None:
            return []
        try:
            with Reporting(f"The history of {shelf.name}"):
                names = [name for name in os.listdir(folder) if _has_history(folder, name)]
        finally:
            os.close(folder)
        scopes = (scope_of_staged(f"{shelf.name}:{name}") for name in names)
        return sorted(scope.filename for scope in scopes if scope is not None)

    def missing(self, shelf: Shelf) -> list[str]:
        """Name the pages of a shelf that had a history and have none now."""
        from looseleaf.stores.verification import missing_histories

        return missing_histories(self.store, shelf, set(self.pages(shelf)))

    def verify(self, scope: Scope, *, is_core: bool = False) -> PageVerdict:
        """Compare a page and each of its versions with the hashes that were written."""
        from looseleaf.stores.verification import verify_page

        return verify_page(self.store, scope, is_core=is_core)

    def shelves(self) -> list[Shelf]:
        """List every shelf that has a history."""
        folder = self.store.open_own(*HISTORY.split("/"))
        if folder is None:
            return []
        try:
            with Reporting("The history"):
                names = sorted(os.listdir(folder))
        finally:
            os.close(folder)
        shelves = (shelf_named(name) for name in names)
        return [shelf for shelf in shelves if shelf is not None]


def _has_history(folder: int, name: str) -> bool:
    """Say whether anything is logged; a write that was refused leaves an empty log."""
    try:
        return os.lstat(f"{name}/{LOG}", dir_fd=folder).st_size > 0
    except (FileNotFoundError, NotADirectoryError):
        return False


def _revisions(log: PageLog) -> list[Revision]:
    lines = log.lines()
    files = set(os.listdir(log.folder))
    purged = {
        line["purged"]: f"purged by {line['actor'] or 'someone'} at {line['time']}: "
        f"{line['reason']}"
        for line in lines
        if "purged" in line
    }
    changes = [line for line in lines if "revision" in line]
    revisions = []
    kept = False
    for line in changes:
        number = line["revision"]
        # What does not lie there may be made again from the version before, or from nothing.
        again = "redo" in line and (kept or is_whole(line["redo"], line["bytes"]))
        kept = line is changes[-1] or not line["hash"] or str(number) in files or again
        revisions.append(revision_of(line, kept=kept, purged=purged.get(number, "")))
    return revisions
