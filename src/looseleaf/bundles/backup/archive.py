"""The archive of a backup: its members, its description, its manifest and its own checksum.

`BACKUP.json` comes first and says what the archive is. The files of the workspace follow. Then
`SHA256SUMS` has a line for each of them, as the program sha256sum writes and checks it, and
`ARCHIVE-SHA256` has the hash of all bytes of the archive before itself. An archive without its end
is not whole, and nothing in it can change without being noticed.
"""

from __future__ import annotations

import json
from hashlib import sha256

from looseleaf.bundles.backup import tar_format
from looseleaf.bundles.backup.tar_format import Header, build_padding, encode_header
from looseleaf.errors.bundles import InvalidBackup
from looseleaf.values import as_dict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from looseleaf.files.file_copies import FileCopy
    from looseleaf.files.output_file import Mark, OutputFile

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
                header = Header(copy.path, 0, copy.file_mode, copy.mtime, tar_format.FOLDER)
                archive.write(encode_header(header))
                continue
            header = Header(copy.path, copy.size, copy.file_mode, copy.mtime, tar_format.FILE)
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
        archive.write(encode_header(Header(MANIFEST, size, _FILE_MODE, mtime, tar_format.FILE)))
        for chunk in self._manifest.chunks():
            archive.write(chunk)
        archive.write(build_padding(size))
        content = format_checksum(archive.hexdigest(), archive.position())
        header = Header(CHECKSUM, len(content), _FILE_MODE, mtime, tar_format.FILE)
        archive.write(
            encode_header(header) + content + build_padding(len(content)) + tar_format.END
        )
        archive.finish()

    def _add_bytes(self, path: bytes, content: bytes, mtime: int) -> None:
        header = Header(path, len(content), _FILE_MODE, mtime, tar_format.FILE)
        self._archive.write(encode_header(header) + content + build_padding(len(content)))
        self._manifest.write(format_manifest_line(sha256(content).hexdigest(), path))
