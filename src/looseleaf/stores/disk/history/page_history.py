"""Reading, purging and pruning the versions that the disk store keeps."""

from __future__ import annotations

import os

from looseleaf.errors.pages import RevisionMissing
from looseleaf.files import atomic
from looseleaf.files.folders import OsErrorContext
from looseleaf.memory.history import (
    Blame,
    PackedVersions,
    Revision,
    ShownTime,
    list_outlived_revisions,
)
from looseleaf.memory.provenance import OUTSIDE
from looseleaf.memory.store import Change, Found, Retention
from looseleaf.stores.disk.history.log_line import CHANGED_OUTSIDE, encode_provenance, revision_of
from looseleaf.stores.disk.listing import HISTORY, LOG, parse_shelf_name, parse_staged_name
from looseleaf.times import format_microseconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.memory.history import PageVerdict
    from looseleaf.memory.scope import Scope, Shelf
    from looseleaf.stores.disk.history.log_line import Line
    from looseleaf.stores.disk.history.revisions import PageLog
    from looseleaf.stores.disk.locked_page import LockedPage
    from looseleaf.stores.disk.store import DiskStore


class DiskHistory:
    """The prior versions of pages on a disk store."""

    def __init__(self, store: DiskStore) -> None:
        self.store = store

    def revisions(self, scope: Scope) -> list[Revision]:
        """List the revisions of a page, oldest first; the last one is its present state.

        An outside edit that no write has noticed yet is the last revision, with the number that
        it will get.
        """
        log = self.store.log(scope)
        if log is None:
            present = self._read_present(scope, None)
            return [present] if present else []
        try:
            with OsErrorContext(f"The history of {scope.filename}"):
                revisions = _list_revisions(log)
                last = revisions[-1] if revisions else None
                if self._read_hash(scope) == (last.hash if last else ""):
                    return revisions
                # Changed outside, or by a write that has not logged it yet.
                atomic.lock(log.folder, scope.filename)
                revisions = _list_revisions(log)
                last = revisions[-1] if revisions else None
                present = self._read_present(scope, last)
                return revisions if present is None or present is last else [*revisions, present]
        finally:
            os.close(log.folder)

    def latest(self, scope: Scope) -> Revision | None:
        """Return the newest revision of a page, or None if the page never existed.

        Of a log with thousands of lines, only the end is read.
        """
        log = self.store.log(scope)
        if log is None:
            return self._read_present(scope, None)
        try:
            with OsErrorContext(f"The history of {scope.filename}"):
                line = log.newest()
                if line is not None:
                    last = revision_of(line, is_kept=True)
                    if self._read_hash(scope) == last.hash:
                        return last
                    atomic.lock(log.folder, scope.filename)  # as in `revisions`
                    locked_line = log.newest()
                    if locked_line is not None:
                        if locked_line is not line:
                            last = revision_of(locked_line, is_kept=True)
                        return self._read_present(scope, last)
        finally:
            os.close(log.folder)
        revisions = self.revisions(scope)
        return revisions[-1] if revisions else None

    def _read_hash(self, scope: Scope) -> str:
        """Read the hash of a page, or "" for a page that is not there."""
        page = self.store.read(scope)
        return page.hash if isinstance(page, Found) else ""

    def _read_present(self, scope: Scope, last: Revision | None) -> Revision | None:
        """Return the log's last revision if the page is that version, else an outside change."""
        page = self.store.read(scope)
        if (page.hash if isinstance(page, Found) else "") == (last.hash if last else ""):
            return last
        now = self.store.clock()
        page_hash, size, updated = "", 0, now
        if isinstance(page, Found):
            page_hash, size, updated = page.hash, len(page.content), min(page.updated, now)
        return Revision(
            number=last.number + 1 if last else 1,
            time=max(updated, last.time if last else 0.0),
            operation=OUTSIDE,
            actor="",
            surface=CHANGED_OUTSIDE.surface,
            reason=CHANGED_OUTSIDE.reason,
            hash=page_hash,
            bytes=size,
            actor_kind=OUTSIDE,
        )

    def content(self, scope: Scope, number: int) -> bytes | None:
        """Read the bytes of one revision, or None if the page was deleted by it."""
        content = self._read_prior(scope, number, is_replaced=True)
        if content is not None:
            return content
        revisions = self.revisions(scope)
        revision = next((revision for revision in revisions if revision.number == number), None)
        if revision is None:
            raise RevisionMissing(scope.filename, number)
        if not revision.hash:
            return None
        if revision is revisions[-1]:
            page = self.store.read(scope)
            if isinstance(page, Found) and page.hash == revision.hash:
                return page.content
        content = self._read_prior(scope, number)
        if content is None:
            reason = "its content was overwritten outside Looseleaf or is no longer kept"
            raise RevisionMissing(scope.filename, number, revision.purged or reason)
        return content

    def _read_prior(self, scope: Scope, number: int, *, is_replaced: bool = False) -> bytes | None:
        """Read a version from the history, or None if it is not kept.

        With `is_replaced`, only a version that the log shows as replaced. The other lines are
        not parsed, since a log may have thousands.
        """
        log = self.store.log(scope)
        if log is None:
            return None
        try:
            with OsErrorContext(f"The history of {scope.filename}"):
                newest = log.newest() if is_replaced else None
                if is_replaced and (newest is None or number >= newest["revision"]):
                    return None
                line = log.find(number)
                return log.version(line) if line is not None else None
        finally:
            os.close(log.folder)

    def blame(self, scope: Scope, number: int | None = None) -> Blame:
        """Return a version of a page, the present one if `number` is None, with who wrote it."""
        from looseleaf.memory.blame import LineOwners
        from looseleaf.stores.disk.history.line_owners import follow_log

        newest = self.latest(scope)  # an outside edit that is not logged yet, too
        log = self.store.log(scope)
        owners = LineOwners()
        lines: dict[int, Line] = {}
        if log is not None:
            try:
                with OsErrorContext(f"The history of {scope.filename}"):
                    owners, lines = follow_log(log, number)
            finally:
                os.close(log.folder)
        revisions = {
            owner: revision_of(lines[owner], is_kept=True)
            for owner in lines.keys() & {*owners.owners}
        }
        is_newest = number is None or (newest is not None and number == newest.number)
        if newest is not None and is_newest and newest.number > owners.revision:
            page = self.store.read(scope)
            owners.follow(newest.number, page.content if isinstance(page, Found) else b"")
            revisions[newest.number] = newest
        elif number is not None and number not in lines:
            raise RevisionMissing(scope.filename, number)
        return Blame(owners.content, tuple(revisions[owner] for owner in owners.owners))

    def purge(self, scope: Scope, number: int, *, change: Change) -> None:
        """Remove the content of one prior revision for good, and record that it happened."""
        from looseleaf.stores.disk.history import packing
        from looseleaf.stores.disk.history.line_owners import note_owners

        revisions = self.revisions(scope)
        if all(revision.number != number for revision in revisions):
            raise RevisionMissing(scope.filename, number)
        if revisions[-1].number == number:
            reason = "it is what the page says now; change the page first, then purge"
            raise RevisionMissing(scope.filename, number, reason)

        def attempt(page: LockedPage, current: Found | None) -> None:
            newest = page.note(current)
            packing.require_removable(page.log, number)
            note_owners(page.log, mode=page.file_mode, is_purge=True)
            lines = page.log.lines()
            if current is not None and number == newest - 1:
                packing.make_self_contained(lines, current.content)
            for line in lines:
                if line.get("revision") == number:
                    line.pop("redo", None)
            packing.remove_versions(page.log, {number}, mode=page.file_mode)
            note = {
                "purged": number,
                "time": format_microseconds(self.store.clock()),
                **encode_provenance(change.provenance),
            }
            page.log.rewrite([*lines, note], mode=page.file_mode)

        # A search of another process may read the version between these two notes.
        self._note_removal(scope.shelf)
        try:
            self.store.run_locked(scope, attempt)
        finally:
            self._note_removal(scope.shelf)

    def removals(self, shelf: Shelf) -> int:
        """Return a number that changes whenever versions of a shelf are purged or pruned."""
        from looseleaf.stores.disk.history.revisions import count_removals

        return count_removals(self.store, shelf)

    def prune(self, shelf: Shelf, retention: Retention) -> int:
        """Remove the versions that a retention no longer keeps; return how many."""
        histories = {name: self.revisions(shelf.page(name)) for name in self.pages(shelf)}
        times = (revision.time for revisions in histories.values() for revision in revisions)
        now = self.store.clock()
        shown_time = ShownTime(times, now, retention)
        names = [
            name
            for name, revisions in histories.items()
            if list_outlived_revisions(revisions, retention, now, shown_time)
        ]
        if not names:
            return 0
        self._note_removal(shelf)  # before and after, as `purge` does
        try:
            return sum(self._prune(shelf.page(name), retention, now, shown_time) for name in names)
        finally:
            self._note_removal(shelf)

    def _note_removal(self, shelf: Shelf) -> None:
        from looseleaf.stores.disk.history.revisions import note_removal

        with OsErrorContext(f"The history of {shelf.name}"):
            note_removal(self.store, shelf)

    def _prune(self, scope: Scope, retention: Retention, now: float, shown_time: ShownTime) -> int:
        from looseleaf.stores.disk.history.packing import prune_versions

        def choose(revisions: list[Revision]) -> list[Revision]:
            return list_outlived_revisions(revisions, retention, now, shown_time)

        def attempt(page: LockedPage, current: Found | None) -> int:
            page.note(current)
            present = current.content if current else b""
            return prune_versions(page.log, choose, present=present, mode=page.file_mode)

        return self.store.run_locked(scope, attempt)

    def pack(self, scope: Scope, *, dry_run: bool = False) -> PackedVersions:
        """Pack the settled versions of a page into one compressed file.

        Works for the pages of deleted agents, too: only the folder of the history is needed.
        """
        from looseleaf.stores.disk.history.packing import pack_page

        log = self.store.log(scope)
        if log is None:
            return PackedVersions()
        try:
            return pack_page(self.store, scope, log, dry_run=dry_run)
        finally:
            os.close(log.folder)

    def pages(self, shelf: Shelf) -> list[str]:
        """List every page of a shelf that has a history, deleted pages, too."""
        folder = self.store.open_own(*HISTORY.split("/"), shelf.name)
        if folder is None:
            return []
        try:
            with OsErrorContext(f"The history of {shelf.name}"):
                names = [name for name in os.listdir(folder) if _has_history(folder, name)]
        finally:
            os.close(folder)
        scopes = (parse_staged_name(f"{shelf.name}:{name}") for name in names)
        return sorted(scope.filename for scope in scopes if scope is not None)

    def missing(self, shelf: Shelf) -> list[str]:
        """List the pages of a shelf that had a history and have none now."""
        from looseleaf.stores.disk.history.verification import list_missing_histories

        return list_missing_histories(self.store, shelf, set(self.pages(shelf)))

    def verify(self, scope: Scope, *, is_core: bool = False) -> PageVerdict:
        """Compare a page and each of its versions with the hashes that were written."""
        from looseleaf.stores.disk.history.verification import verify_page

        return verify_page(self.store, scope, is_core=is_core)

    def shelves(self) -> list[Shelf]:
        """List every shelf that has a history."""
        folder = self.store.open_own(*HISTORY.split("/"))
        if folder is None:
            return []
        try:
            with OsErrorContext("The history"):
                names = sorted(os.listdir(folder))
        finally:
            os.close(folder)
        shelves = (parse_shelf_name(name) for name in names)
        return [shelf for shelf in shelves if shelf is not None]


def _has_history(folder: int, name: str) -> bool:
    """Return whether anything is logged; a write that was refused leaves an empty log."""
    try:
        return os.lstat(f"{name}/{LOG}", dir_fd=folder).st_size > 0
    except (FileNotFoundError, NotADirectoryError):
        return False


def _list_revisions(log: PageLog) -> list[Revision]:
    from looseleaf.stores.disk.history.delta import is_whole

    lines = log.lines()
    files = set(os.listdir(log.folder))
    # Read after the files: a version is in the pack before its file is removed.
    pack = log.pack()
    files |= set(map(str, pack.hashes())) if pack is not None else set()
    purge_notes = {
        line["purged"]: f"purged by {line['actor'] or 'someone'} at {line['time']}: "
        f"{line['reason']}"
        for line in lines
        if "purged" in line
    }
    changes = [line for line in lines if "revision" in line]
    revisions = []
    is_kept = False
    for line in changes:
        number = line["revision"]
        # A version without a file can be rebuilt from the version before, or from its line alone.
        can_redo = "redo" in line and (is_kept or is_whole(line["redo"], line["bytes"]))
        is_kept = line is changes[-1] or not line["hash"] or str(number) in files or can_redo
        revisions.append(revision_of(line, is_kept=is_kept, purge_note=purge_notes.get(number, "")))
    return revisions
