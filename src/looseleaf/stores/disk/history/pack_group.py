"""A group of a pack: consecutive versions of a page, the first whole, the others as differences.

A group can be read without any other. Its head says which versions it holds, a table gives their
numbers and hashes, and the rest is compressed. Sizes are bounded, so that reading a version costs
at most the decompression of one group.
"""

from __future__ import annotations

from struct import Struct

from looseleaf.errors import Unavailable
from looseleaf.memory.store import hash_content
from looseleaf.stores.disk.history.delta import apply_hunks, find_hunks
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from looseleaf.stores.disk.history.delta import Hunk

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
