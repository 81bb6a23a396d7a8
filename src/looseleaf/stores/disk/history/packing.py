"""Packing a page's history: settled versions go from files of their own into one compressed file.

Versions are read, compressed, read back and compared with their hashes without the page's lock;
the lock is held only while the pack is replaced and the files are removed. The pack
is on disk before the first file is removed, so that a process that dies at any point leaves every
version in its file, in the pack, or in both. A file that is in both is removed by the next run.
"""

from __future__ import annotations

import os
from itertools import chain

from looseleaf.errors import Unavailable
from looseleaf.files import atomic
from looseleaf.files.folders import NO_FILE, READ, OsErrorContext, inode_of, read_all
from looseleaf.files.mounts import has_writers
from looseleaf.memory.history import PackedVersions
from looseleaf.memory.store import hash_content
from looseleaf.stores.disk.history.delta import splice
from looseleaf.stores.disk.history.line_owners import note_owners
from looseleaf.stores.disk.history.log_line import revision_of
from looseleaf.stores.disk.history.packs import MOST_BYTES, MOST_VERSIONS, PackDamage, encode_groups
from looseleaf.stores.disk.listing import LOG, MAKING, PACK, STAGING, staged_name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from looseleaf.memory.history import Revision
    from looseleaf.memory.scope import Scope
    from looseleaf.stores.disk.history.log_line import Line
    from looseleaf.stores.disk.history.packs import PackFile
    from looseleaf.stores.disk.history.revisions import PageLog
    from looseleaf.stores.disk.store_folder import StoreFolder

    Mark = tuple[int, int, int]

    Choice = Callable[[list[Revision]], list[Revision]]


NEWEST_UNPACKED = 16  # versions before the present one that keep their files
LEAST_VERSIONS = 16  # settled versions that are worth a new pack
_BATCH_BYTES = 64_000_000  # of files that are packed before the lock is taken
_ATTEMPTS = 5


class _Changed(Exception):
    """The log or the pack was replaced since it was read."""


def pack_page(
    store: StoreFolder, scope: Scope, log: PageLog, *, dry_run: bool = False
) -> PackedVersions:
    """Pack the settled versions of a page; with `dry_run`, only report what that would give."""
    results: list[PackedVersions] = []
    for _ in range(_ATTEMPTS):
        packer = _Packer(store, scope, log)
        try:
            with OsErrorContext(f"The history of {scope.filename}"):
                results.extend(packer.run(dry_run=dry_run))
        except _Changed:
            continue  # pruned, purged or packed by another process: look again
        finally:
            packer.close()
        return PackedVersions(
            sum(result.versions for result in results),
            sum(result.file_bytes for result in results),
            sum(result.pack_bytes for result in results),
        )
    raise Unavailable(f"The history of {scope.filename}", "it keeps changing; pack it later")


class _Packer:
    """One run over the history of a page, as its log was at the beginning."""

    def __init__(self, store: StoreFolder, scope: Scope, log: PageLog) -> None:
        self.store, self.scope, self.log = store, scope, log
        self.pack: PackFile | None = None
        self._log_fd = NO_FILE

    def close(self) -> None:
        """Close the log."""
        if self._log_fd >= 0:
            os.close(self._log_fd)

    def run(self, *, dry_run: bool) -> Iterator[PackedVersions]:
        """Pack a batch at a time, and yield the result of each."""
        try:
            # Kept open, so that no other file can get its inode number.
            self._log_fd = os.open(LOG, READ, dir_fd=self.log.folder)
        except FileNotFoundError:
            return
        self.pack = self.log.pack()
        hashes = self.pack.hashes() if self.pack is not None else {}
        lines = _list_settled_lines(self.log)
        if not dry_run:
            lines_in_pack = [line for line in lines if hashes.get(line["revision"]) == line["hash"]]
            yield self._remove_files(lines_in_pack)
        lines = [line for line in lines if hashes.get(line["revision"]) != line["hash"]]
        remaining_lines = iter(lines if len(lines) >= LEAST_VERSIONS else ())
        while True:
            batch = _Batch(self.log, remaining_lines)
            end, tail = self._open_tail()
            groups = list(encode_groups(chain(tail, batch.versions())))
            if not batch.count:
                return
            tail_size = self.pack.size - end if self.pack is not None else 0
            if not dry_run:
                self._replace_pack(batch.files, groups, end)
            yield PackedVersions(batch.count, batch.size, sum(map(len, groups)) - tail_size)

    def _open_tail(self) -> tuple[int, Iterable[tuple[int, bytes]]]:
        """Return the offset of new groups, and the versions of a last group that is not full."""
        if self.pack is None:
            return 0, ()
        for start, end, head in list(self.pack.segments())[-1:]:
            has_room = head and head.count < MOST_VERSIONS and head.raw_size < MOST_BYTES // 2
            if head is not None and has_room:
                try:
                    return start, self.pack.open_group(head).versions()
                except PackDamage:
                    return end, ()
        return self.pack.size, ()

    def _replace_pack(self, files: dict[int, Mark], groups: list[bytes], end: int) -> None:
        """Write a pack: the old bytes up to `end`, then new groups; remove the files."""
        staging = self.store.open_own(*STAGING.split("/"))
        name = staged_name_of(self.scope) + MAKING
        atomic.lock(self.log.folder, self.scope.filename)
        try:
            self._require_unchanged()
            old_chunks = self.pack.chunks(0, end) if self.pack is not None else ()
            self.log.replace_pack(
                chain(old_chunks, groups),
                mode=self.store.modes[0],
                staging=None if staging is None else (staging, name),
            )
            self.pack = self.log.pack()
            self._remove_unchanged(files)
        finally:
            atomic.unlock(self.log.folder)
            if staging is not None:
                os.close(staging)

    def _remove_files(self, lines: list[Line]) -> PackedVersions:
        """Remove the files of versions that the pack holds already, after an interrupted run."""
        names = set(os.listdir(self.log.folder))
        batch = _Batch(self.log, (line for line in lines if str(line["revision"]) in names))
        files = {
            number: batch.files[number]
            for number, content in batch.versions()
            if number in batch.files and self.log.packed_version(number) == content
        }
        if not files:
            return PackedVersions()
        atomic.lock(self.log.folder, self.scope.filename)
        try:
            self._require_unchanged()
            self._remove_unchanged(files)
        finally:
            atomic.unlock(self.log.folder)
        return PackedVersions(len(files), sum(size for _, size, _ in files.values()), 0)

    def _require_unchanged(self) -> None:
        """Raise if a version may have been purged or pruned, or packed by another process.

        Each of these replaces the log or the pack by a new file; a write only adds to the log.
        """
        if inode_of(self.log.folder, LOG) != os.fstat(self._log_fd).st_ino:
            raise _Changed
        if self.log.pack() is not self.pack:
            raise _Changed

    def _remove_unchanged(self, files: dict[int, Mark]) -> None:
        for number, mark in files.items():
            try:
                status = os.lstat(str(number), dir_fd=self.log.folder)
            except FileNotFoundError:
                continue
            if _mark_of(status) == mark:
                atomic.remove(self.log.folder, str(number))


class _Batch:
    """Versions that go into the pack together, read one at a time."""

    def __init__(self, log: PageLog, lines: Iterator[Line]) -> None:
        self.log, self._lines = log, lines
        self.files: dict[int, Mark] = {}  # that are not needed once the pack is written
        self.count = self.size = 0

    def versions(self) -> Iterator[tuple[int, bytes]]:
        """Yield the versions that can be packed, until the batch is full."""
        for line in self._lines:
            content = self._read(line)
            if content is not None:
                self.count += 1
                yield line["revision"], content
                if self.size >= _BATCH_BYTES:
                    return

    def _read(self, line: Line) -> bytes | None:
        """Read a version from its file; a version without a file is rebuilt from the log.

        A file that a program has open for writing, or has written to, stays as it is.
        """
        number = line["revision"]
        try:
            fd = os.open(str(number), READ, dir_fd=self.log.folder)
        except FileNotFoundError:
            return self.log.version(line)
        try:
            status = os.fstat(fd)
            if has_writers(fd):
                return None
            content = read_all(fd, status.st_size)
        finally:
            os.close(fd)
        if hash_content(content) != line["hash"]:
            return None
        self.files[number] = _mark_of(status)
        self.size += len(content)
        return content


def _list_settled_lines(log: PageLog) -> list[Line]:
    """Return the changes whose versions no write needs any more, without those that were purged."""
    lines = log.lines()
    purged_numbers = {line["purged"] for line in lines if "purged" in line}
    changes = [line for line in lines if "revision" in line]
    newest = changes[-1]["revision"] if changes else 0
    return [
        line
        for line in changes
        if line["hash"]
        and line["revision"] < newest - NEWEST_UNPACKED
        and line["revision"] not in purged_numbers
    ]


def _mark_of(status: os.stat_result) -> Mark:
    return status.st_ino, status.st_size, status.st_mtime_ns


# Removing versions for good: those that a retention no longer keeps, and one that is purged.


def prune_versions(log: PageLog, choose: Choice, *, present: bytes, mode: int) -> int:
    """Remove the versions that are chosen, and return how many; `present` is the page as it is now.

    Texts in the log of older versions that also have files are removed, too.
    """
    note_owners(log, mode=mode)
    lines = log.lines()
    changes = [revision_of(line, is_kept=True) for line in lines if "revision" in line]
    pruned_numbers = {revision.number for revision in choose(changes)}
    newest = changes[-1].number if changes else 0
    for line in lines:
        if "redo" in line and line["revision"] != newest:
            if inode_of(log.folder, str(line["revision"])) == NO_FILE:
                log.rescue(line, mode=mode)
            del line["redo"]
    if newest - 1 in pruned_numbers:
        make_self_contained(lines, present)
    # The lines are removed last: until then, an interrupted prune is done again.
    remove_versions(log, pruned_numbers, mode=mode)
    remaining_lines = [
        line for line in lines if line.get("revision", line.get("purged")) not in pruned_numbers
    ]
    log.rewrite(remaining_lines, mode=mode)
    return len(pruned_numbers)


def make_self_contained(lines: list[Line], present: bytes) -> None:
    """Store all bytes of the newest change, since the version before it is removed."""
    newest = [line for line in lines if "revision" in line][-1]
    if "redo" in newest and hash_content(present) == newest["hash"]:
        newest["redo"] = splice(b"", present)


def remove_versions(log: PageLog, numbers: set[int], *, mode: int) -> None:
    """Remove versions, whether they lie as files or in the pack; the page is locked."""
    pack = log.pack()
    if pack is not None and not numbers.isdisjoint(pack.hashes()):
        chunks = _filter_pack(pack, numbers)
        first_chunk = next(chunks, None)
        if first_chunk is None:
            atomic.remove(log.folder, PACK)
        else:
            log.replace_pack(chain((first_chunk,), chunks), mode=mode)
    for number in numbers:
        atomic.remove(log.folder, str(number))


def require_removable(log: PageLog, number: int) -> None:
    """Raise if the pack is damaged at a version, so that its text could not be removed."""
    pack = log.pack()
    if pack is None:
        return
    for head in pack.heads:
        if head.first <= number <= head.last:
            try:
                pack.open_group(head)
            except PackDamage as error:
                reason = f"its {PACK} is damaged ({error}); restore it from a backup first"
                raise Unavailable(f"The history of {log.filename}", reason) from error


def _filter_pack(pack: PackFile, numbers: set[int]) -> Iterator[bytes]:
    """Yield a pack without some versions; a group that holds one of them is built anew.

    A damaged part stays as it is, since someone may still repair it.
    """
    for start, end, head in pack.segments():
        group_numbers = set(pack.table(head)) if head is not None else set()
        if head is None or numbers.isdisjoint(group_numbers):
            yield from pack.chunks(start, end)
        elif not group_numbers <= numbers:
            try:
                group = pack.open_group(head)
            except PackDamage:
                yield from pack.chunks(start, end)
            else:
                yield from encode_groups(
                    (number, content)
                    for number, content in group.versions()
                    if number not in numbers
                )
