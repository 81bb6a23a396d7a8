"""The pack of a page: one file of compressed groups of prior versions, and how it is read.

`pack` lies beside the log. It is replaced whole and never changed in place: a reader that has it
open continues with the file that it opened. Damage of one group leaves the others readable.
"""

from __future__ import annotations

import os

from looseleaf.files.folders import READ
from looseleaf.stores.disk.history.pack_group import (
    HEAD,
    MAGIC,
    PackDamage,
    open_group,
    parse_head,
    parse_table,
)
from looseleaf.stores.disk.history_names import PACK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.stores.disk.history.pack_group import GroupHead, PackGroup

_CHUNK = 1 << 20


def open_pack(folder: int) -> PackFile | None:
    """Open the pack in the folder of a page's history, or None if there is none."""
    try:
        return PackFile(os.open(PACK, READ, dir_fd=folder))
    except FileNotFoundError:
        return None


class PackFile:
    """A pack, open for reading until nobody uses it."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        status = os.fstat(fd)
        self.inode, self.size = status.st_ino, status.st_size
        self.damaged_places: list[int] = []  # where a group should begin and does not
        self.heads = list(self._scan())
        self._group: tuple[int, PackGroup] | None = (
            None  # the last one that was read, and its offset
        )

    def __del__(self) -> None:
        os.close(self._fd)

    def _scan(self) -> Iterator[GroupHead]:
        """Find the heads of all groups; after a damaged group, the next one is searched for."""
        offset = 0
        while offset < self.size:
            head = parse_head(os.pread(self._fd, HEAD.size, offset), offset)
            if head is not None and self._is_plausible(head):
                yield head
                offset += head.size
            else:
                self.damaged_places.append(offset)
                offset = self._find_magic(offset + 1)

    def _is_plausible(self, head: GroupHead) -> bool:
        """Return whether a group ends where another begins, or with the file, or is intact.

        A wrong length would skip the groups after it.
        """
        end = head.offset + head.size
        if end == self.size or os.pread(self._fd, len(MAGIC), end) == MAGIC:
            return True
        try:
            open_group(b"".join(self.chunks(head.offset, end)))
        except PackDamage:
            return False
        return True

    def _find_magic(self, offset: int) -> int:
        """Return the next place where a group may begin, or the end of the file."""
        while offset < self.size:
            chunk = os.pread(self._fd, _CHUNK, offset)
            place = chunk.find(MAGIC)
            if place >= 0:
                return offset + place
            offset += max(1, len(chunk) - len(MAGIC) + 1)
        return self.size

    def hashes(self) -> dict[int, str]:
        """Return number and hash of every version, as the tables of the groups say."""
        hashes: dict[int, str] = {}
        for head in self.heads:
            hashes |= self.table(head)
        return hashes

    def table(self, head: GroupHead) -> dict[int, str]:
        """Return number and hash of every version of a group, as its table says."""
        size = head.size - head.body_size
        return parse_table(head, os.pread(self._fd, size, head.offset))

    def segments(self) -> Iterator[tuple[int, int, GroupHead | None]]:
        """Yield start, end and head of every part, in order; a damaged part has no head."""
        place = 0
        for head in self.heads:
            if place < head.offset:
                yield place, head.offset, None
            place = head.offset + head.size
            yield head.offset, place, head
        if place < self.size:
            yield place, self.size, None

    def read(self, number: int) -> bytes | None:
        """Read a version, or None if no intact group holds it."""
        for head in reversed(self.heads):
            if head.first <= number <= head.last:
                try:
                    group = self.open_group(head)
                except PackDamage:
                    continue  # a newer group may hold the version, rebuilt since
                if number in group.hashes:
                    return group.read(number)
        return None

    def open_group(self, head: GroupHead) -> PackGroup:
        """Read a group, or raise `PackDamage`; the last one that was read is kept."""
        if self._group is None or self._group[0] != head.offset:
            self._group = None  # two are never held at once
            content = b"".join(self.chunks(head.offset, head.offset + head.size))
            self._group = head.offset, open_group(content)
        return self._group[1]

    def chunks(self, start: int, end: int) -> Iterator[bytes]:
        """Yield the bytes of a range, a part at a time."""
        while start < end:
            chunk = os.pread(self._fd, min(_CHUNK, end - start), start)
            if not chunk:
                return
            start += len(chunk)
            yield chunk

    def inspect(self) -> tuple[set[int], list[str]]:
        """Read every group; return the numbers of the versions, and the faults that were found."""
        numbers: set[int] = set()
        faults = [f"its {PACK} is damaged at byte {place}" for place in self.damaged_places]
        for head in self.heads:
            try:
                numbers |= self.open_group(head).hashes.keys()
            except PackDamage:
                faults.append(f"its {PACK} is damaged in revisions {head.first} to {head.last}")
        return numbers, faults
