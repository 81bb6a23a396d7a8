"""The archive of a backup: its members, its description, its manifest and its own checksum.

`BACKUP.json` comes first and says what the archive is. The files of the workspace follow. Then
`SHA256SUMS` has a line for each of them, as the program sha256sum writes and checks it, and
`ARCHIVE-SHA256` has the hash of all bytes of the archive before itself. An archive without its end
is not whole, and nothing in it can change without being noticed.
"""

from __future__ import annotations

import json
import os
import stat
import struct
from array import array
from hashlib import sha256
from typing import NamedTuple

from looseleaf.errors.features import BackupMissing, InvalidBackup
from looseleaf.files import atomic
from looseleaf.files.folders import OsErrorContext
from looseleaf.values import as_dict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, BinaryIO, TypeAlias

    from looseleaf.features.backup.folder_copies import FileCopy

    Receive: TypeAlias = "Callable[[Header, Iterator[bytes]], None]"


# The headers of a tar archive, as POSIX describes them (ustar, and pax for long names).
# Only ordinary files and folders are written, and nothing else is read: no links, no devices,
# no sparse files, no formats of single programs.


BLOCK = 512
END = bytes(2 * BLOCK)
FILE, FOLDER, EXTENDED = b"0", b"5", b"x"
MOST_EXTENDED_BYTES = 65_536
_LAYOUT = struct.Struct("100s8s8s8s12s12s8s1s100s6s2s32s32s8s8s155s12s")
_BLANK_SUM = b" " * 8
_MAGIC, _VERSION = b"ustar\0", b"00"
_NAME_BYTES, _PREFIX_BYTES = 100, 155
_LARGEST = 8**11
_MOST_PATH_BYTES, _MOST_SEGMENT_BYTES = 4_096, 255
_REST_BYTES = 12
_EXTENDED_NAME = b"././@PaxHeader"
_OWNER = b"0000000\0" * 2
_AFTER_KIND = bytes(100) + _MAGIC + _VERSION + bytes(64) + b"0000000\0" * 2
_CONSTANT_SUM = sum(_OWNER) + sum(_BLANK_SUM) + sum(_AFTER_KIND)


class Header(NamedTuple):
    """A member of an archive: what its header says."""

    path: bytes
    size: int
    file_mode: int
    mtime: int
    kind: bytes


def build_padding(size: int) -> bytes:
    """Return the zero bytes that fill up the last block of a content."""
    return bytes(-size % BLOCK)


def encode_header(header: Header) -> bytes:
    """Write a header: one block, or three if a name is long or a file has 8 GiB or more."""
    path = header.path + b"/" if header.kind == FOLDER else header.path
    names = _split_path(path)
    if names is not None and header.size < _LARGEST:
        return _encode_block(header, *names)
    records = _encode_record(b"path", path)
    if header.size >= _LARGEST:
        records += _encode_record(b"size", b"%d" % header.size)
        header = header._replace(size=0)
    extended_header = Header(_EXTENDED_NAME, len(records), 0o600, header.mtime, EXTENDED)
    return (
        _encode_block(extended_header, _EXTENDED_NAME, b"")
        + records
        + build_padding(len(records))
        + _encode_block(header, path[:_NAME_BYTES], b"")
    )


def parse_header(block: bytes) -> Header:
    """Read a block; raise `InvalidBackup` for everything that `encode_header` never writes."""
    fields = _LAYOUT.unpack(block)
    name, mode, uid, gid, size, mtime, checksum, kind, link, magic, version, *_owner = fields
    prefix, rest = fields[15:]
    content = block[:148] + _BLANK_SUM + block[156:]
    if (magic, version) != (_MAGIC, _VERSION) or _parse_octal(checksum) != sum(content):
        raise InvalidBackup("a header in it is damaged, or is not ustar")
    if kind not in (FILE, FOLDER, EXTENDED):
        raise InvalidBackup("it has a link, a device or another entry that is no plain file")
    if link.strip(b"\0") or rest.strip(b"\0") or _parse_octal(uid) or _parse_octal(gid):
        raise InvalidBackup("a header in it has fields that a backup never has")
    path = _text_of(prefix) + b"/" + _text_of(name) if _text_of(prefix) else _text_of(name)
    header = Header(
        path, _parse_octal(size), _parse_octal(mode) & 0o7777, _parse_octal(mtime), kind
    )
    if kind == FOLDER and header.size:
        raise InvalidBackup("a folder in it has a content")
    return header


def apply_extension(header: Header, content: bytes) -> Header:
    """Return a header the path and the size of the extended header before it."""
    rest = content
    while rest:
        length, blank, _ = rest.partition(b" ")
        is_number = blank and length.isdigit() and len(length) < 6
        record = rest[: int(length)] if is_number else b""
        key, equals, text = record[len(length) + 1 :].partition(b"=")
        if not equals or not text.endswith(b"\n") or len(record) != int(length):
            raise InvalidBackup("an extended header in it is damaged")
        rest = rest[len(record) :]
        if key == b"path":
            header = header._replace(path=text[:-1])
        elif key == b"size" and text[:-1].isdigit() and len(text) < 20:
            header = header._replace(size=int(text))
        else:
            raise InvalidBackup("an extended header has a field of another program")
    return header


def check_path(path: bytes) -> None:
    """Raise `InvalidBackup` for a path that is not plainly below the root."""
    segments = path.split(b"/")
    is_plain = (
        len(path) <= _MOST_PATH_BYTES
        and b"\0" not in path
        and all(
            segment not in (b"", b".", b"..") and len(segment) <= _MOST_SEGMENT_BYTES
            for segment in segments
        )
    )
    if not is_plain:
        raise InvalidBackup(f"the path {quote_path(path)} in it leads outside the workspace")


def quote_path(path: bytes) -> str:
    """Quote a path of an archive for a message, cut so that a hostile one does not fill it."""
    return repr(path[:200].decode("utf-8", "backslashreplace"))


def _encode_block(header: Header, name: bytes, prefix: bytes) -> bytes:
    mtime = min(max(header.mtime, 0), _LARGEST - 1)
    numbers = b"%011o\0%011o\0" % (header.size, mtime)
    mode = b"%07o\0" % header.file_mode
    # The rest of a block is the same in all of them, and its sum is known.
    checksum = _CONSTANT_SUM + sum(name) + sum(mode) + sum(numbers) + sum(prefix) + header.kind[0]
    return b"".join(
        (
            name.ljust(_NAME_BYTES, b"\0"),
            mode,
            _OWNER,
            numbers,
            b"%06o\0 " % checksum,
            header.kind,
            _AFTER_KIND,
            prefix.ljust(_PREFIX_BYTES + _REST_BYTES, b"\0"),
        )
    )


def _encode_record(key: bytes, text: bytes) -> bytes:
    """Write a record of an extended header, which begins with its own length."""
    body = b" %s=%s\n" % (key, text)
    length = len(body) + len(str(len(body)))
    length = len(body) + len(str(length))
    return b"%d%s" % (length, body)


def _split_path(path: bytes) -> tuple[bytes, bytes] | None:
    """Divide a path into a name and a prefix that fit, or None if it does not fit."""
    if len(path) <= _NAME_BYTES:
        return path, b""
    start = len(path) - _NAME_BYTES - 1
    slash = path.find(b"/", start, len(path) - 1)
    if slash < 0 or slash > _PREFIX_BYTES:
        return None
    return path[slash + 1 :], path[:slash]


def _text_of(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _parse_octal(field: bytes) -> int:
    digits = field.strip(b" \0")
    if digits and not digits.strip(b"01234567"):
        return int(digits, 8)
    raise InvalidBackup("a number in a header is damaged")


DESCRIPTION, LEFT_OUT = b"BACKUP.json", b"LEFT-OUT.txt"
MANIFEST, CHECKSUM = b"SHA256SUMS", b"ARCHIVE-SHA256"
OWN_MEMBERS = (DESCRIPTION, LEFT_OUT, MANIFEST, CHECKSUM)
FORMAT = 1
_FILE_MODE = 0o600


@value(kw_only=True)
class BackupDescription:
    """What an archive says about itself.

    Fields:
        format: The version of the layout of the archive.
        program: The version of Looseleaf that made it.
        created: The time at which the backup began, in seconds since 1970.
        workspace: The id of the workspace.
        name: The name of the workspace, for people.
        database: The kind of the database in it: sqlite, postgresql or none.
        group_writable: Whether files of the workspace belong to a group.
    """

    format: int
    program: str
    created: float
    workspace: str
    name: str
    database: str
    group_writable: bool


def parse_description(content: bytes) -> BackupDescription:
    """Read the description of an archive, or raise `InvalidBackup`."""
    try:
        fields: Any = json.loads(content)
    except ValueError:
        fields = None
    if not isinstance(fields, dict) or type(fields.get("format")) is not int:
        raise InvalidBackup("its description is damaged")
    if fields["format"] != FORMAT:
        raise InvalidBackup("a newer Looseleaf has made it; use that one")
    empty = BackupDescription(
        format=FORMAT,
        program="",
        created=0.0,
        workspace="",
        name="",
        database="",
        group_writable=False,
    )
    types = {name: type(field) for name, field in as_dict(empty).items()}
    if {name: type(field) for name, field in fields.items()} != types:
        raise InvalidBackup("its description is damaged")
    return BackupDescription(**fields)


def format_manifest_line(digest: str, path: bytes) -> bytes:
    """Write a line of the manifest, as sha256sum does: a line end in a name is escaped."""
    if b"\n" in path or b"\\" in path or b"\r" in path:
        path = path.replace(b"\\", b"\\\\").replace(b"\n", b"\\n").replace(b"\r", b"\\r")
        return b"\\%s  %s\n" % (digest.encode(), path)
    return b"%s  %s\n" % (digest.encode(), path)


def format_checksum(digest: str, size: int) -> bytes:
    """Write the last member: the hash of the bytes before it, and their number."""
    return f"{digest}  the first {size} bytes of this archive\n".encode()


class ArchiveWriter:
    """Writes an archive; both files are new, and only the first is kept."""

    def __init__(self, archive: OutputFile, manifest: OutputFile) -> None:
        self._archive, self._manifest = archive, manifest
        self.file_count = 0
        self.content_bytes = 0

    def begin(self, description: BackupDescription) -> None:
        """Write the description."""
        content = json.dumps(as_dict(description), ensure_ascii=False, indent=1).encode() + b"\n"
        self._add_bytes(DESCRIPTION, content, int(description.created))

    def add(self, copies: Iterable[FileCopy]) -> None:
        """Write copies of files, in the given order."""
        archive = self._archive
        for copy in copies:
            if copy.is_folder:
                header = Header(copy.path, 0, copy.file_mode, copy.mtime, FOLDER)
                archive.write(encode_header(header))
                continue
            header = Header(copy.path, copy.size, copy.file_mode, copy.mtime, FILE)
            if isinstance(copy.chunks, tuple):  # a small file, as most are: one write for all of it
                content = b"".join(copy.chunks)
                archive.write(encode_header(header) + content + build_padding(copy.size))
                digest = sha256(content).hexdigest()
            else:
                digest = self._add_chunks(header, copy.chunks)
            self._manifest.write(format_manifest_line(digest, copy.path))
            self.file_count += 1
            self.content_bytes += copy.size

    def _add_chunks(self, header: Header, chunks: Iterable[bytes]) -> str:
        """Write a large file piece by piece; return its hash."""
        archive, digest = self._archive, sha256()
        archive.write(encode_header(header))
        for chunk in chunks:
            digest.update(chunk)
            archive.write(chunk)
        archive.write(build_padding(header.size))
        return digest.hexdigest()

    def mark(self) -> tuple[Mark, Mark, int, int]:
        """Return the present end, for `rewind`."""
        return self._archive.mark(), self._manifest.mark(), self.file_count, self.content_bytes

    def rewind(self, mark: tuple[Mark, Mark, int, int]) -> None:
        """Undo everything that was added since a mark."""
        self._archive.rewind(mark[0])
        self._manifest.rewind(mark[1])
        self.file_count, self.content_bytes = mark[2:]

    def finish(self, left_out: Iterable[str], mtime: int) -> None:
        """Write the manifest and the checksum; on return, the whole archive is on disk."""
        names = "".join(f"{name}\n" for name in left_out)
        if names:
            self._add_bytes(LEFT_OUT, names.encode("utf-8", "backslashreplace"), mtime)
        archive, size = self._archive, self._manifest.position()
        archive.write(encode_header(Header(MANIFEST, size, _FILE_MODE, mtime, FILE)))
        for chunk in self._manifest.chunks():
            archive.write(chunk)
        archive.write(build_padding(size))
        content = format_checksum(archive.hexdigest(), archive.position())
        header = Header(CHECKSUM, len(content), _FILE_MODE, mtime, FILE)
        archive.write(encode_header(header) + content + build_padding(len(content)) + END)
        archive.finish()

    def _add_bytes(self, path: bytes, content: bytes, mtime: int) -> None:
        header = Header(path, len(content), _FILE_MODE, mtime, FILE)
        self._archive.write(encode_header(header) + content + build_padding(len(content)))
        self._manifest.write(format_manifest_line(sha256(content).hexdigest(), path))


# Reading an archive of a backup: strictly, in one pass, and with every hash compared.


# The names at the top of a workspace; the folder of a pipeline begins with `PIPELINE`.
WORKSPACE_NAMES = (b"looseleaf.toml", b"agents", b"network", b"shared", b"users", b".looseleaf")
PIPELINE = b"pipeline-"
TABLES = b"database"  # the folder with the tables of a PostgreSQL database
_CHUNK = 1 << 20
_MOST_OWN_BYTES = 1 << 20  # of a description, a checksum and a list of what was left out
_MOST_NAMED = 5
_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK\3\4")  # gzip to zip
_MOST_MARK_BYTES = 6
_PARTS = 64  # the hashes of all paths are compared in so many parts


@value
class ArchiveContent:
    """The content of an archive, after every byte was compared.

    Fields:
        description: What the archive says about itself.
        files: The number of files of the workspace.
        content_bytes: The number of bytes in them.
        left_out: The files that could not be copied, each with the reason.
    """

    description: BackupDescription
    files: int
    content_bytes: int
    left_out: tuple[str, ...]


class ArchiveReader:
    """An archive that is open; use it in a `with` block."""

    def __init__(self, path: str) -> None:
        with OsErrorContext(path):
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            os.close(fd)
            raise InvalidBackup("it is no file")
        self._path = path
        self.size = status.st_size
        self._file: BinaryIO = os.fdopen(fd, "rb", buffering=_CHUNK)
        self._digest = sha256()
        self.position = 0

    def __enter__(self) -> ArchiveReader:
        return self

    def __exit__(self, *_outcome: object) -> None:
        self._file.close()

    def read_description(self) -> BackupDescription:
        """Read the first member alone."""
        self._file.seek(0)
        is_compressed = self._file.read(_MOST_MARK_BYTES).startswith(_COMPRESSED)
        self._rewind()
        if is_compressed:
            raise InvalidBackup("it is compressed; uncompress it first")
        header = self.next_header()
        if header is None or header.path != DESCRIPTION or header.size > _MOST_OWN_BYTES:
            raise InvalidBackup("it does not begin as a backup does")
        return parse_description(b"".join(self.content(header.size)))

    def read_all(self, receive: Receive) -> ArchiveContent:
        """Read everything, and raise `InvalidBackup` at the first fault.

        `receive` gets each file and empty folder of the workspace. They may be used only when this
        function has returned.
        """
        description = self.read_description()
        self._rewind()
        lines, paths = sha256(), _Paths()
        files = content_bytes = 0
        left_out: tuple[str, ...] = ()
        while True:
            header = self.next_header()
            if header is None:
                raise InvalidBackup("its end is missing")
            paths.add(header.path)
            if header.path == MANIFEST:
                break
            digest = sha256()
            chunks = self._hash_content(header.size, digest.update)
            if header.path in OWN_MEMBERS:
                text = self._read_own(header, chunks)
                if header.path == LEFT_OUT:
                    left_out = tuple(text.decode("utf-8", "replace").splitlines())
            else:
                _check_place(header.path)
                receive(header, chunks)
                for _unread in chunks:
                    pass
                files += header.kind == FILE
                content_bytes += header.size
            if header.kind == FILE:
                lines.update(format_manifest_line(digest.hexdigest(), header.path))
        self._check_manifest(header.size, lines.hexdigest())
        self._check_end()
        paths.check()
        return ArchiveContent(description, files, content_bytes, left_out)

    def _rewind(self) -> None:
        self._file.seek(0)
        self._digest, self.position = sha256(), 0

    def _read_own(self, header: Header, chunks: Iterator[bytes]) -> bytes:
        if header.size > _MOST_OWN_BYTES or header.kind != FILE:
            raise InvalidBackup("a member in it is larger than it can be")
        return b"".join(chunks)

    def _check_manifest(self, size: int, expected: str) -> None:
        digest, start = sha256(), self.position
        for chunk in self.content(size):
            digest.update(chunk)
        if digest.hexdigest() != expected:
            names = ", ".join(name_damaged_files(self._path, start)) or "its manifest"
            raise InvalidBackup(f"{names} in it is not what was written")

    def _check_end(self) -> None:
        expected = format_checksum(self._digest.hexdigest(), self.position)
        header = self.next_header()
        if header is None or header.path != CHECKSUM or header.size != len(expected):
            raise InvalidBackup("its end is missing")
        if b"".join(self.content(header.size)) != expected:
            raise InvalidBackup("its bytes are not those that were written")
        if self._file.read(len(END) + 1) != END:
            raise InvalidBackup("something follows its end, or the end is damaged")

    def next_header(self) -> Header | None:
        """Read the next header with its extension; None at the end of the members."""
        block = self._read(BLOCK)
        if not block.strip(b"\0"):
            return None
        header = parse_header(block)
        if header.kind == EXTENDED:
            if header.size > MOST_EXTENDED_BYTES:
                raise InvalidBackup("a name in it is too long")
            extension = b"".join(self.content(header.size))
            header = apply_extension(parse_header(self._read(BLOCK)), extension)
            if header.kind == EXTENDED:
                raise InvalidBackup("an extended header follows another")
        if header.kind == FOLDER:
            header = header._replace(path=header.path.removesuffix(b"/"))
        check_path(header.path)
        if header.size > self.size - self.position:
            raise InvalidBackup("it is cut off")
        return header

    def _hash_content(self, size: int, update: Callable[[bytes], None]) -> Iterator[bytes]:
        for chunk in self.content(size):
            update(chunk)
            yield chunk

    def content(self, size: int) -> Iterator[bytes]:
        remaining = size
        while remaining:
            chunk = self._read(min(remaining, _CHUNK))
            remaining -= len(chunk)
            yield chunk
        if size % BLOCK and self._read(-size % BLOCK).strip(b"\0"):
            raise InvalidBackup("the space between two files in it is not empty")

    def _read(self, size: int) -> bytes:
        content = self._file.read(size)
        if len(content) != size:
            raise InvalidBackup("it is cut off")
        self._digest.update(content)
        self.position += size
        return content


def open_archive(path: str) -> ArchiveReader:
    """Open an archive; raise `BackupMissing` if there is no such file."""
    if not os.path.lexists(path):
        folder, name = os.path.split(os.path.abspath(path))
        raise BackupMissing(name, folder)
    return ArchiveReader(path)


def name_damaged_files(path: str, manifest_start: int) -> list[str]:
    """Compare each file with its line in the manifest; name the first that differ."""
    names: list[str] = []
    with open(path, "rb") as manifest, ArchiveReader(path) as reader:
        manifest.seek(manifest_start)
        while reader.position < manifest_start and len(names) < _MOST_NAMED:
            header = reader.next_header()
            if header is None or header.path == MANIFEST:
                break
            digest = sha256()
            for chunk in reader.content(header.size):
                digest.update(chunk)
            if header.kind != FILE:
                continue
            line = format_manifest_line(digest.hexdigest(), header.path)
            if manifest.read(len(line)) != line:
                names.append(header.path.decode("utf-8", "backslashreplace"))
    return names


class _Paths:
    """The paths of an archive, as eight bytes of a hash each, to find a path that occurs twice."""

    def __init__(self) -> None:
        self._parts = [array("Q") for _ in range(_PARTS)]

    def add(self, path: bytes) -> None:
        number = int.from_bytes(sha256(path).digest()[:8], "big")
        self._parts[number % _PARTS].append(number)

    def check(self) -> None:
        if any(len(set(part)) < len(part) for part in self._parts):
            raise InvalidBackup("two entries in it have the same path")


def _check_place(path: bytes) -> None:
    top = path.partition(b"/")[0]
    if top not in (*WORKSPACE_NAMES, TABLES) and not top.startswith(PIPELINE):
        raise InvalidBackup(f"{quote_path(path)} is no file of a workspace")


# A large file that is written piece by piece, with its hash; its end can be removed again.


class Mark(NamedTuple):
    """A position to which a file can be rewound, until a later position is marked."""

    byte_count: int
    buffer_size: int


class OutputFile:
    """A new file that only its writer knows until it is finished."""

    def __init__(self, folder: int, name: str, *, mode: int = 0o600) -> None:
        self._fd, _ = atomic.create(folder, name, b"", mode=mode)
        self._buffer = bytearray()
        self._byte_count = 0
        self._digest = sha256()  # of the bytes in the file
        self._marked_digest: Any = None  # of the bytes at the mark, set by the first flush after it

    def write(self, content: bytes) -> None:
        """Add bytes to the end."""
        self._buffer += content
        if len(self._buffer) >= _CHUNK:
            self.flush()

    def position(self) -> int:
        """Return the number of bytes so far."""
        return self._byte_count + len(self._buffer)

    def hexdigest(self) -> str:
        """Return the sha256 of all bytes so far."""
        digest = self._digest.copy()
        digest.update(self._buffer)
        return digest.hexdigest()

    def mark(self) -> Mark:
        """Remember the position; marks are many, so a hash is copied only when it is needed."""
        self._marked_digest = None
        return Mark(self._byte_count, len(self._buffer))

    def rewind(self, mark: Mark) -> None:
        """Remove everything that was added since a mark."""
        if mark.byte_count != self._byte_count:
            remainder = os.pread(self._fd, mark.buffer_size, mark.byte_count)
            atomic.truncate(self._fd, mark.byte_count)
            os.lseek(self._fd, mark.byte_count, os.SEEK_SET)
            self._buffer = bytearray(remainder)
            self._byte_count, self._digest = mark.byte_count, self._marked_digest.copy()
        del self._buffer[mark.buffer_size :]

    def chunks(self) -> Iterator[bytes]:
        """Read back everything that was written."""
        self.flush()
        offset = 0
        while chunk := os.pread(self._fd, _CHUNK, offset):
            offset += len(chunk)
            yield chunk

    def finish(self) -> None:
        """Write the buffered bytes, and return when all bytes survive a power cut."""
        self.flush()
        atomic.sync(self._fd)

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def flush(self) -> None:
        """Write the buffered bytes; they may not survive a power cut yet."""
        atomic.write_all(self._fd, self._buffer)
        if self._marked_digest is None:
            self._marked_digest = self._digest.copy()
        self._digest.update(self._buffer)
        self._byte_count += len(self._buffer)
        self._buffer.clear()
