"""Reading an archive of a backup: strictly, in one pass, and with every hash compared."""

from __future__ import annotations

import os
import stat
from array import array
from hashlib import sha256

from looseleaf.bundles.backup import tar_format
from looseleaf.bundles.backup.archive import (
    CHECKSUM,
    DESCRIPTION,
    LEFT_OUT,
    MANIFEST,
    OWN_MEMBERS,
    format_checksum,
    format_manifest_line,
    parse_description,
)
from looseleaf.bundles.backup.tar_format import (
    BLOCK,
    END,
    Header,
    apply_extension,
    check_path,
    parse_header,
)
from looseleaf.errors.bundles import BackupMissing, InvalidBackup
from looseleaf.files.folders import OsErrorContext
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from looseleaf.bundles.backup.archive import BackupDescription

    Receive = Callable[[Header, Iterator[bytes]], None]

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
                files += header.kind == tar_format.FILE
                content_bytes += header.size
            if header.kind == tar_format.FILE:
                lines.update(format_manifest_line(digest.hexdigest(), header.path))
        self._check_manifest(header.size, lines.hexdigest())
        self._check_end()
        paths.check()
        return ArchiveContent(description, files, content_bytes, left_out)

    def _rewind(self) -> None:
        self._file.seek(0)
        self._digest, self.position = sha256(), 0

    def _read_own(self, header: Header, chunks: Iterator[bytes]) -> bytes:
        if header.size > _MOST_OWN_BYTES or header.kind != tar_format.FILE:
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
        if header.kind == tar_format.EXTENDED:
            if header.size > tar_format.MOST_EXTENDED_BYTES:
                raise InvalidBackup("a name in it is too long")
            extension = b"".join(self.content(header.size))
            header = apply_extension(parse_header(self._read(BLOCK)), extension)
            if header.kind == tar_format.EXTENDED:
                raise InvalidBackup("an extended header follows another")
        if header.kind == tar_format.FOLDER:
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
            if header.kind != tar_format.FILE:
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
        raise InvalidBackup(f"{tar_format.quote_path(path)} is no file of a workspace")
