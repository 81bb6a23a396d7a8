"""The pack of a page: one file of compressed groups of prior versions, and how it is read.

`pack` lies beside the log. It is replaced whole and never changed in place: a reader that has it
open continues with the file that it opened. Damage of one group leaves the others readable.
"""

from __future__ import annotations

import os
from struct import Struct

from looseleaf.errors import Unavailable
from looseleaf.files.folders import READ
from looseleaf.memory.store import hash_content
from looseleaf.stores.disk.history.delta import apply_hunks, find_hunks
from looseleaf.stores.disk.listing import PACK
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from looseleaf.stores.disk.history.delta import Hunk


# A group of a pack: consecutive versions of a page, the first whole, the others as differences.
# A group can be read without any other. Its head says which versions it holds, a table gives
# their numbers and hashes, and the rest is compressed. Sizes are bounded, so that reading a
# version costs at most the decompression of one group.


MAGIC = b"LLP1"
MOST_VERSIONS = 128
MOST_BYTES = 768_000  # before compression, of a group with more than one version
_MOST_COPIED_BYTES = 32_000_000  # that are copied to read the last version of a group
_LZMA, _ZLIB = 1, 2
# Magic, codec, versions, first number, last number, bytes before and after compression, checksum.
HEAD = Struct(">4sBIQQIII")
_ENTRY = Struct(">Q32s")
_COUNT = Struct(">I")
_HUNK = Struct(">III")


class PackDamage(Exception):
    """A group of a pack is not what was written."""


@value(kw_only=True)
class GroupHead:
    """The head of a group: where the group lies in its pack, and what it holds."""

    offset: int
    codec: int
    count: int
    first: int
    last: int
    raw_size: int
    body_size: int
    checksum: int

    @property
    def size(self) -> int:
        """The bytes of the whole group in the pack."""
        return HEAD.size + self.count * _ENTRY.size + self.body_size


def parse_head(content: bytes, offset: int) -> GroupHead | None:
    """Read the head of the group at an offset of a pack, or None if there is none."""
    if len(content) < HEAD.size:
        return None
    magic, codec, count, first, last, raw_size, body_size, checksum = HEAD.unpack_from(content)
    if magic != MAGIC:
        return None
    return GroupHead(
        offset=offset,
        codec=codec,
        count=count,
        first=first,
        last=last,
        raw_size=raw_size,
        body_size=body_size,
        checksum=checksum,
    )


def parse_table(head: GroupHead, content: bytes) -> dict[int, str]:
    """Return the numbers and hashes of a group's versions, in order."""
    table = content[HEAD.size : HEAD.size + head.count * _ENTRY.size]
    return {number: digest.hex() for number, digest in _ENTRY.iter_unpack(table)}


class GroupBuilder:
    """A group that is being made: versions are added in the order of their numbers."""

    def __init__(self) -> None:
        self.hashes: dict[int, str] = {}
        self._parts: list[bytes] = []
        self._size = 0
        self._content = b""

    def add(self, number: int, content: bytes) -> bool:
        """Add a version; return False if the group is full, and nothing is added then."""
        hunks = find_hunks(self._content, content)
        size = sum(len(insertion) + _HUNK.size for _, _, insertion in hunks) + _COUNT.size
        if self.hashes and self._is_too_large(size, len(content)):
            return False
        self._parts.append(_COUNT.pack(len(hunks)))
        for place, removed_count, insertion in hunks:
            self._parts += [_HUNK.pack(place, removed_count, len(insertion)), insertion]
        self._size += size
        self._content = content
        self.hashes[number] = hash_content(content)
        return True

    def _is_too_large(self, size: int, content_size: int) -> bool:
        count = len(self.hashes) + 1
        return (
            count > MOST_VERSIONS
            or self._size + size > MOST_BYTES
            or count * content_size > _MOST_COPIED_BYTES
        )

    def encode(self) -> bytes:
        """Return the bytes of the group, after they were read back and compared with the hashes."""
        raw = b"".join(self._parts)
        codec, body = _compress(raw)
        entries = self.hashes.items()
        table = b"".join(_ENTRY.pack(number, bytes.fromhex(digest)) for number, digest in entries)
        numbers = list(self.hashes)
        fields = (codec, len(numbers), numbers[0], numbers[-1], len(raw), len(body))
        head = HEAD.pack(MAGIC, *fields, 0)
        head = HEAD.pack(MAGIC, *fields, _compute_checksum(head, table + body))
        group = head + table + body
        for number, content in open_group(group).versions():
            if hash_content(content) != self.hashes[number]:
                raise PackDamage(f"version {number} does not read back as it was")
        return group


def encode_groups(versions: Iterable[tuple[int, bytes]]) -> Iterator[bytes]:
    """Pack versions, in the order of their numbers, into as many groups as they need."""
    builder = GroupBuilder()
    for number, content in versions:
        if not builder.add(number, content):
            yield builder.encode()
            builder = GroupBuilder()
            builder.add(number, content)
    if builder.hashes:
        yield builder.encode()


def open_group(content: bytes) -> PackGroup:
    """Read a whole group, or raise `PackDamage`."""
    head = parse_head(content, 0)
    if head is None or len(content) != head.size:
        raise PackDamage("a group is cut short")
    fields = (head.codec, head.count, head.first, head.last, head.raw_size, head.body_size)
    blank_head = HEAD.pack(MAGIC, *fields, 0)
    if _compute_checksum(blank_head, content[HEAD.size :]) != head.checksum:
        raise PackDamage("a group is not what was written")
    body = content[HEAD.size + head.count * _ENTRY.size :]
    return PackGroup(parse_table(head, content), _decompress(head, body))


class PackGroup:
    """A group, decompressed; versions are read forward from the last one that was asked for."""

    def __init__(self, hashes: dict[int, str], raw: bytes) -> None:
        self.hashes = hashes
        self._raw = raw
        self._numbers = list(hashes)
        self._rewind()

    def _rewind(self) -> None:
        self._place, self._next, self._content = 0, 0, bytearray()

    def read(self, number: int) -> bytes:
        """Read a version that the group holds."""
        index = self._numbers.index(number)
        if index + 1 < self._next:
            self._rewind()
        while self._next <= index:
            self._read_next()
        return bytes(self._content)

    def versions(self) -> Iterator[tuple[int, bytes]]:
        """Read every version with its number, in order."""
        for number in self._numbers:
            yield number, self.read(number)

    def _read_next(self) -> None:
        """Derive the next version from the one before it."""
        (count,) = _COUNT.unpack_from(self._raw, self._place)
        self._place += _COUNT.size
        hunks: list[Hunk] = []
        for _ in range(count):
            place, removed_count, size = _HUNK.unpack_from(self._raw, self._place)
            start = self._place + _HUNK.size
            self._place = start + size
            hunks.append((place, removed_count, self._raw[start : self._place]))
        apply_hunks(self._content, hunks)
        self._next += 1


def _compute_checksum(head: bytes, rest: bytes) -> int:
    from zlib import crc32

    return crc32(rest, crc32(head))


def _compress(raw: bytes) -> tuple[int, bytes]:
    """Compress by LZMA, which finds repeated text at any distance; a large group by zlib.

    LZMA takes 13 ms to decompress a megabyte, zlib a quarter of that.
    """
    if len(raw) <= MOST_BYTES:
        try:
            import lzma
        except ImportError:  # a Python that was built without it
            pass
        else:
            # A window of the size of a group: the compressor takes 10 MB, not 32.
            options = {"id": lzma.FILTER_LZMA2, "preset": 3, "dict_size": 1 << 20}
            return _LZMA, lzma.compress(raw, check=lzma.CHECK_NONE, filters=[options])
    import zlib

    return _ZLIB, zlib.compress(raw, 6)


def _decompress(head: GroupHead, body: bytes) -> bytes:
    if head.codec == _LZMA:
        try:
            from lzma import LZMADecompressor
        except ImportError as error:
            reason = "this Python was built without lzma, which reading it takes"
            raise Unavailable("A pack of the history", reason) from error

        return LZMADecompressor().decompress(body, head.raw_size)
    from zlib import decompressobj

    return decompressobj().decompress(body, head.raw_size)


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
