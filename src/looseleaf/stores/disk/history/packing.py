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
from looseleaf.files.file_writers import has_writers
from looseleaf.files.folders import NO_FILE, READ, OsErrorContext, inode_of, read_all
from looseleaf.memory.history import PackedVersions
from looseleaf.memory.store import hash_content
from looseleaf.stores.disk.history.pack_group import (
    MOST_BYTES,
    MOST_VERSIONS,
    PackDamage,
    encode_groups,
)
from looseleaf.stores.disk.history_names import LOG, MAKING, STAGING, staged_name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from looseleaf.memory.scope import Scope
    from looseleaf.stores.disk.history.log_line import Line
    from looseleaf.stores.disk.history.pack_file import PackFile
    from looseleaf.stores.disk.history.revisions import PageLog
    from looseleaf.stores.disk.store_folder import StoreFolder

    Mark = tuple[int, int, int]

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
