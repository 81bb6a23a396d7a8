"""Zip archives, read without trusting anything in them; and a bundle as one archive.

Every header is checked before a byte is unpacked, and no file unpacks to more than it declares.
Anything that two programs could read in two ways (overlapping files, a local header that differs
from the directory, bytes between files) is refused with `InvalidArchive`.
"""

from __future__ import annotations

import io
import os
import stat
import struct
import zlib

from looseleaf.errors import InvalidName
from looseleaf.errors.features import InvalidArchive
from looseleaf.files.folders import casefold_name
from looseleaf.memory.scope import check_folder
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import BinaryIO


# Names of files in an archive: each must be safe on every system and different from all others.


MAX_PATH_BYTES = 400
MAX_PATH_DEPTH = 16
MAX_SOURCE_BYTES = 1_000
_TOP = 2  # folders of the layout, such as memory/agent, that stand before the name of a page


def check_archive_path(path: str, *, depth: int = MAX_PATH_DEPTH) -> str:
    """Return a relative path unchanged, or raise `InvalidArchive` if it could leave its folder.

    The rules are those of a page's name: no absolute path, backslash, drive letter, `..`, hidden,
    percent-encoded, invisible or device name. The path of a bundle has two folders more.
    """
    segments = path.split("/")
    if len(segments) > depth:
        raise InvalidArchive(_shorten(path), f"it is more than {depth} folders deep")
    if len(path.encode(errors="replace")) > MAX_PATH_BYTES:
        raise InvalidArchive(_shorten(path), f"its name is longer than {MAX_PATH_BYTES} bytes")
    for part in ("/".join(segments[:_TOP]), "/".join(segments[_TOP:])):
        try:
            if part or len(segments) <= _TOP:
                check_folder(part or path)
        except InvalidName as error:
            raise InvalidArchive(_shorten(path), error.why) from None
    return path


def check_source_path(path: str, *, depth: int = MAX_PATH_DEPTH) -> str:
    """Return the path of a file that is only read, and never written under its name.

    Hidden names and names that no page can have are allowed; a path that leaves its folder is not.
    """
    segments = path.split("/")
    if len(segments) > depth:
        raise InvalidArchive(_shorten(path), f"it is more than {depth} folders deep")
    if len(path.encode(errors="replace")) > MAX_SOURCE_BYTES:
        raise InvalidArchive(_shorten(path), f"its name is longer than {MAX_SOURCE_BYTES} bytes")
    if any(part in ("", ".", "..") for part in segments) or "\\" in path or "\0" in path:
        raise InvalidArchive(_shorten(path), "it could leave its folder")
    return path


class ArchiveNames:
    """The names of an archive so far; names that some system cannot distinguish are refused.

    Refused are a name given twice, a name that differs from another only by case or Unicode form,
    and a file that is also a folder.
    """

    def __init__(self, fold: Callable[[str], str] = casefold_name) -> None:
        self._fold = fold
        self._files: dict[str, str] = {}  # the name by its folded form
        self._folders: dict[str, str] = {}

    def add(self, path: str) -> None:
        """Add the path of a file with its folders, or raise `InvalidArchive`."""
        segments = path.split("/")
        for count in range(1, len(segments)):
            folder = "/".join(segments[:count])
            _refuse_twin(folder, self._folders.setdefault(self._fold(folder), folder))
            if self._fold(folder) in self._files:
                raise InvalidArchive(_shorten(folder), "it is a file and a folder")
        key = self._fold(path)
        if key in self._folders:
            raise InvalidArchive(_shorten(path), "it is a file and a folder")
        if self._files.get(key) == path:
            raise InvalidArchive(_shorten(path), "the archive has it twice")
        _refuse_twin(path, self._files.setdefault(key, path))


def _refuse_twin(path: str, known_path: str) -> None:
    if known_path != path:
        reason = f"it differs from {_shorten(known_path)} only by case or Unicode form"
        raise InvalidArchive(_shorten(path), reason)


def _shorten(path: str) -> str:
    """Cut a name for a message, so that a hostile name does not fill the message."""
    return path if len(path) <= 120 else f"{path[:120]}…"


@value
class PathRules:
    """The rules for the names of an archive: `check` for each, and `fold` to compare two."""

    check: Callable[..., str]
    fold: Callable[[str], str]


BUNDLE_PATHS = PathRules(check_archive_path, casefold_name)
SOURCE_PATHS = PathRules(check_source_path, str)  # a source may come from a system that knows case


MIB = 1024 * 1024
_END = struct.Struct("<4s4H2LH")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_END_MARK, _CENTRAL_MARK, _LOCAL_MARK = b"PK\x05\x06", b"PK\x01\x02", b"PK\x03\x04"
_LONGEST_COMMENT = 65_535
_LONGEST_DESCRIPTOR = 24  # sizes after the bytes of a file, if they were not known before
_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 0x1 | 0x40 | 0x2000  # flags of encrypted files and directories
_DESCRIPTOR = 0x8  # the flag of a file whose sizes stand after its bytes
_NOT_SIMPLE = 0xFFFF  # a count in the larger form of the format, zip64
_UNIX = 3
_CHUNK = 65_536
_LARGEST_DIRECTORY = 16 * MIB
_SMALL = MIB  # a file up to this size may be compressed by any ratio: the total limits them


@value
class ZipLimits:
    """The most that an archive may hold.

    Fields:
        archive_bytes: The size of the archive itself.
        files: How many files.
        file_bytes: The size of one file, unpacked.
        total_bytes: The size of all files, unpacked.
        ratio: How many times larger a file may be than its compressed bytes.
        depth: How many folders deep.
    """

    archive_bytes: int = 128 * MIB
    files: int = 10_000
    file_bytes: int = 32 * MIB
    total_bytes: int = 256 * MIB
    ratio: int = 200
    depth: int = 16


@value
class ZipEntry:
    """A file of an archive, checked but not yet unpacked."""

    path: str
    size: int
    packed_size: int
    checksum: int
    method: int
    start: int  # of its packed bytes


@value(kw_only=True)
class _Header:
    """The fields of a file in the directory that are checked."""

    name: bytes
    version: int
    flags: int
    method: int
    checksum: int
    packed_size: int
    size: int
    attributes: int
    offset: int


class ZipArchive:
    """An open archive whose directory was checked as a whole; the caller closes the file."""

    def __init__(
        self, file: BinaryIO, limits: ZipLimits | None = None, rules: PathRules = BUNDLE_PATHS
    ) -> None:
        self._file = file
        self._limits = limits or ZipLimits()
        self.entries = _read_directory(file, self._limits, rules)

    def read(self, entry: ZipEntry) -> bytes:
        """Unpack one file whole."""
        return b"".join(self.stream(entry))

    def stream(self, entry: ZipEntry) -> Iterator[bytes]:
        """Unpack a file in parts; raise `InvalidArchive` if the bytes are not the declared ones."""
        size = checksum = 0
        for part in self._unpack(entry):
            size += len(part)
            if size > entry.size:
                raise InvalidArchive(entry.path, "it unpacks to more bytes than it declares")
            checksum = zlib.crc32(part, checksum)
            yield part
        if size != entry.size:
            raise InvalidArchive(entry.path, "it unpacks to fewer bytes than it declares")
        if checksum != entry.checksum:
            raise InvalidArchive(entry.path, "its checksum does not match")

    def _unpack(self, entry: ZipEntry) -> Iterator[bytes]:
        if entry.method == _STORED:
            yield from self._read_packed_parts(entry)
            return
        decompressor = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            has_excess = False
            for packed_part in self._read_packed_parts(entry):
                remainder = packed_part
                has_excess = has_excess or decompressor.eof
                while remainder and not decompressor.eof:
                    yield decompressor.decompress(remainder, _CHUNK)
                    remainder = decompressor.unconsumed_tail
            while not decompressor.eof and (part := decompressor.decompress(b"", _CHUNK)):
                yield part
        except zlib.error:
            raise InvalidArchive(entry.path, "its compressed bytes are damaged") from None
        if not decompressor.eof or decompressor.unused_data or has_excess:
            raise InvalidArchive(entry.path, "its compressed bytes do not end where they should")

    def _read_packed_parts(self, entry: ZipEntry) -> Iterator[bytes]:
        self._file.seek(entry.start)
        remaining = entry.packed_size
        while remaining:
            position = self._file.tell()
            part = self._file.read(min(_CHUNK, remaining))
            if not part:
                raise InvalidArchive(entry.path, "the archive ends inside it")
            remaining -= len(part)
            yield part
            self._file.seek(position + len(part))  # another file may have been read meanwhile


def _read_directory(file: BinaryIO, limits: ZipLimits, rules: PathRules) -> tuple[ZipEntry, ...]:
    archive_size = file.seek(0, os.SEEK_END)
    if archive_size > limits.archive_bytes:
        raise InvalidArchive("the zip file", f"it has more than {limits.archive_bytes:,} bytes")
    count, start, length = _find_directory(file, archive_size)
    if count > limits.files or length > _LARGEST_DIRECTORY:
        raise InvalidArchive("the zip file", f"it holds more than {limits.files:,} files")
    file.seek(start)
    directory = file.read(length)
    entries, names, spans, total = [], ArchiveNames(rules.fold), [], 0
    offset = 0
    for _ in range(count):
        header, offset = _read_header(directory, offset)
        path = _check_header(header, limits, rules)
        data_start, span = _check_local(file, header, start)
        spans.append(span)
        if path is None:
            continue  # a folder: folders come by themselves with the files in them
        names.add(path)
        total += header.size
        if total > limits.total_bytes:
            reason = f"its files have more than {limits.total_bytes:,} bytes together"
            raise InvalidArchive("the zip file", reason)
        sizes = (header.size, header.packed_size, header.checksum)
        entries.append(ZipEntry(path, *sizes, header.method, data_start))
    if offset != length:
        raise InvalidArchive("the zip file", "its directory does not end where it should")
    _check_spans(spans, start)
    return tuple(sorted(entries, key=lambda entry: entry.path))


def _find_directory(file: BinaryIO, size: int) -> tuple[int, int, int]:
    """Return count, start and length of the directory, from the end record closing the file."""
    tail_start = max(0, size - _END.size - _LONGEST_COMMENT)
    file.seek(tail_start)
    tail = file.read()
    place = tail.rfind(_END_MARK)
    while place >= 0:
        if len(tail) - place >= _END.size:
            fields = _END.unpack_from(tail, place)
            if place + _END.size + fields[7] == len(tail):
                return _check_end(fields, tail_start + place)
        place = tail.rfind(_END_MARK, 0, place)
    raise InvalidArchive("the file", "it is not a zip archive, or it is cut off")


def _check_end(fields: tuple[int, ...], end: int) -> tuple[int, int, int]:
    _mark, disk, first_disk, count, total, length, start, _comment = fields
    if total == _NOT_SIMPLE or start == 0xFFFFFFFF:
        raise InvalidArchive("the zip file", "it uses zip64, which is for larger archives")
    if disk or first_disk or count != total:
        raise InvalidArchive("the zip file", "it is one of several parts")
    if start + length != end:
        raise InvalidArchive("the zip file", "its directory is not where the end says")
    return total, start, length


def _read_header(directory: bytes, offset: int) -> tuple[_Header, int]:
    if offset + _CENTRAL.size > len(directory):
        raise InvalidArchive("the zip file", "its directory is cut off")
    fields = _CENTRAL.unpack_from(directory, offset)
    if fields[0] != _CENTRAL_MARK:
        raise InvalidArchive("the zip file", "its directory is damaged")
    name_end = offset + _CENTRAL.size + fields[10]
    end = name_end + fields[11] + fields[12]
    if end > len(directory):
        raise InvalidArchive("the zip file", "its directory is cut off")
    name = directory[offset + _CENTRAL.size : name_end]
    header = _Header(
        name=name,
        version=fields[1],
        flags=fields[3],
        method=fields[4],
        checksum=fields[7],
        packed_size=fields[8],
        size=fields[9],
        attributes=fields[15],
        offset=fields[16],
    )
    return header, end


def _check_header(header: _Header, limits: ZipLimits, rules: PathRules) -> str | None:
    """Check a header, and return the path of the file, or None for a folder."""
    try:
        path = header.name.decode()
    except UnicodeDecodeError:
        raise InvalidArchive(repr(header.name[:60]), "its name is not UTF-8") from None
    is_folder = path.endswith("/")
    rules.check(path.removesuffix("/"), depth=limits.depth)
    if header.flags & _ENCRYPTED:
        raise InvalidArchive(path, "it is encrypted")
    if header.method not in (_STORED, _DEFLATED):
        reason = f"it is compressed by method {header.method}; only deflate can be read"
        raise InvalidArchive(path, reason)
    _check_kind(path, header, is_folder=is_folder)
    if is_folder and header.size:
        raise InvalidArchive(path, "it is a folder with content")
    if header.size > limits.file_bytes:
        raise InvalidArchive(path, f"it has more than {limits.file_bytes:,} bytes")
    if header.method == _STORED and header.size != header.packed_size:
        raise InvalidArchive(path, "it declares two sizes")
    if header.size > _SMALL and header.size > header.packed_size * limits.ratio:
        raise InvalidArchive(path, f"it unpacks to more than {limits.ratio} times its size")
    return None if is_folder else path


def _check_kind(path: str, header: _Header, *, is_folder: bool) -> None:
    """Refuse links, devices and pipes, which only archives of Unix systems can hold."""
    if header.version >> 8 != _UNIX:
        return
    kind = stat.S_IFMT(header.attributes >> 16)
    if stat.S_ISLNK(kind):
        raise InvalidArchive(path, "it is a link")
    if kind not in ((0, stat.S_IFDIR) if is_folder else (0, stat.S_IFREG)):
        raise InvalidArchive(path, "it is not an ordinary file")


def _check_local(file: BinaryIO, header: _Header, end: int) -> tuple[int, tuple[int, int, int]]:
    """Compare the header before a file with the directory.

    Return the start of its bytes and the span that it fills: start, first and last possible end.
    """
    path = header.name.decode()
    file.seek(header.offset)
    content = file.read(_LOCAL.size)
    is_inside = header.offset + _LOCAL.size <= end and len(content) == _LOCAL.size
    if not is_inside or content[:4] != _LOCAL_MARK:
        raise InvalidArchive(path, "the directory points to no file")
    fields = _LOCAL.unpack(content)
    has_descriptor = bool(header.flags & _DESCRIPTOR)
    sizes = (header.checksum, header.packed_size, header.size)
    if (
        file.read(fields[9]) != header.name
        or (fields[2], fields[3]) != (header.flags, header.method)
        or (not has_descriptor and fields[6:9] != sizes)
    ):
        raise InvalidArchive(path, "its header differs from the directory")
    data_start = header.offset + _LOCAL.size + fields[9] + fields[10]
    data_end = data_start + header.packed_size
    if data_end > end:
        raise InvalidArchive(path, "the archive ends inside it")
    last_end = data_end + (_LONGEST_DESCRIPTOR if has_descriptor else 0)
    return data_start, (header.offset, data_end, last_end)


def _check_spans(spans: list[tuple[int, int, int]], directory_start: int) -> None:
    """Refuse files that share bytes (the flat zip bomb), and bytes that belong to no file."""
    first_end = last_end = 0
    for start, *ends in [*sorted(spans), (directory_start, 0, 0)]:
        if not first_end <= start <= last_end:
            raise InvalidArchive("the zip file", "its files overlap, or bytes lie between them")
        first_end, last_end = ends


# A bundle as one zip archive: the same files give the same bytes; unpacking trusts nothing.
# Files are stored, not compressed: another version of the deflate library gives other bytes.


MANIFEST = "manifest.json"
_VERSION = 20  # what a reader must understand: folders
_MADE_BY_UNIX = 3 << 8 | _VERSION
_UTF_8 = 0x800
_FIRST_DAY = 1 << 5 | 1  # 1980-01-01, the first day of the format
_FILE_MODE = 0o100644 << 16
_HEADER_BYTES = 76  # of one file, its name aside: before its bytes, and in the directory
_END_BYTES = 22


def pack_files(files: Mapping[str, bytes]) -> bytes:
    """Write files as a zip archive, by name, with one fixed time."""
    body, directory = io.BytesIO(), io.BytesIO()
    for path in sorted(files):
        name, content = path.encode(), files[path]
        fields = (_UTF_8, 0, 0, _FIRST_DAY, zlib.crc32(content), len(content), len(content))
        offset = body.tell()
        body.write(struct.pack("<4s5H3L2H", b"PK\x03\x04", _VERSION, *fields, len(name), 0))
        body.write(name + content)
        places = (len(name), 0, 0, 0, 0, _FILE_MODE, offset)
        directory.write(
            struct.pack("<4s6H3L5H2L", b"PK\x01\x02", _MADE_BY_UNIX, _VERSION, *fields, *places)
        )
        directory.write(name)
    end = (0, 0, len(files), len(files), directory.tell(), body.tell(), 0)
    body.write(directory.getvalue() + struct.pack("<4s4H2LH", b"PK\x05\x06", *end))
    return body.getvalue()


def find_excess(files: Mapping[str, bytes], limits: ZipLimits | None = None) -> str:
    """Return why an archive of these files is refused (too many, too large), or "" if it is not.

    Names are not checked.
    """
    limits = limits or ZipLimits()
    if len(files) > limits.files:
        return f"it has {len(files):,} files, and a bundle may have {limits.files:,}"
    for path, content in files.items():
        if len(content) > limits.file_bytes:
            return f"{path} has more than {limits.file_bytes:,} bytes"
    names = sum(2 * len(path.encode()) for path in files)
    size = _END_BYTES + _HEADER_BYTES * len(files) + names + sum(map(len, files.values()))
    if size > limits.archive_bytes:
        return f"it has {size:,} bytes, and a bundle may have {limits.archive_bytes:,}"
    return ""


def unpack_files(content: bytes, limits: ZipLimits | None = None) -> dict[str, bytes]:
    """Read every file of an archive; a single folder around all of them is left out."""
    archive = ZipArchive(io.BytesIO(content), limits)
    files = {entry.path: archive.read(entry) for entry in archive.entries}
    if MANIFEST in files:
        return files
    folders = {path.partition("/")[0] for path in files}
    if len(folders) == 1 and f"{(folder := folders.pop())}/{MANIFEST}" in files:
        return {path.removeprefix(f"{folder}/"): bytes_ for path, bytes_ in files.items()}
    raise InvalidArchive(MANIFEST, "the archive has no such file, so that it is no bundle")
