"""An uploaded source: a zip archive, or a single file, read in memory and never unpacked to disk.

No part of the upload stays on the disk, however the process ends.
"""

from __future__ import annotations

import io

from looseleaf.bundles.archive_paths import SOURCE_PATHS
from looseleaf.bundles.importers.source_tree import FILE, SUBFOLDER, TreeEntry
from looseleaf.bundles.zip_reader import ZipArchive, ZipLimits
from looseleaf.errors.bundles import InvalidImport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.bundles.zip_reader import ZipEntry

LIMITS = ZipLimits(files=20_000, depth=32)
ZIP_ENDING = ".zip"
_ZIP_MARK = b"PK"
_EXTRAS = ("__MACOSX", ".DS_Store")  # that programs for zip archives add, in any folder
_LONGEST_NAME = 200


class ArchiveTree:
    """A zip archive as folders and files."""

    def __init__(self, name: str, content: bytes, place: str = "") -> None:
        self.path, self.single = place or name, ""
        self._archive = ZipArchive(io.BytesIO(content), LIMITS, SOURCE_PATHS)
        self._files: dict[str, ZipEntry] = {}
        self._folders: dict[str, dict[str, str]] = {"": {}}  # kinds of entries, by folder and name
        for entry in self._archive.entries:
            if not set(_EXTRAS) & set(entry.path.split("/")):
                self._add(entry)
        self._top = ""

    def _add(self, entry: ZipEntry) -> None:
        self._files[entry.path] = entry
        segments = entry.path.split("/")
        for count, name in enumerate(segments):
            folder = self._folders.setdefault("/".join(segments[:count]), {})
            folder[name] = FILE if count == len(segments) - 1 else SUBFOLDER

    def enter_single_folder(self) -> bool:
        """Use the only folder of the archive as its top; return False if the archive has more."""
        [*entries] = self._folders.get(self._top, {}).items()
        if len(entries) != 1 or entries[0][1] != SUBFOLDER:
            return False
        self._top = _join(self._top, entries[0][0])
        self.path = f"{self.path}/{entries[0][0]}"
        return True

    def scan(self, folder: str) -> Iterator[TreeEntry]:
        """Yield the entries of a folder."""
        for name, kind in self._folders.get(_join(self._top, folder), {}).items():
            yield TreeEntry(name, kind)

    def read(self, path: str, limit: int) -> bytes | None:
        """Unpack a file up to one byte more than `limit`."""
        entry = self._files.get(_join(self._top, path))
        if entry is None:
            raise FileNotFoundError(path)
        parts, size = [], 0
        for part in self._archive.stream(entry):
            parts.append(part)
            size += len(part)
            if size > limit:
                break
        return b"".join(parts)[: limit + 1]


class SingleFileTree:
    """A single uploaded file, such as a CLAUDE.md or a memory.jsonl."""

    def __init__(self, name: str, content: bytes) -> None:
        self.path, self.single, self._content = "upload", name, content

    def scan(self, folder: str) -> Iterator[TreeEntry]:
        """Yield the file."""
        if not folder:
            yield TreeEntry(self.single, FILE)

    def read(self, path: str, limit: int) -> bytes | None:
        """Read the file."""
        if path != self.single:
            raise FileNotFoundError(path)
        return self._content[: limit + 1]


def open_upload(name: str, content: bytes) -> ArchiveTree | SingleFileTree:
    """Open an uploaded zip archive or file by its name, or raise `Invalid`."""
    filename = name.replace("\\", "/").rpartition("/")[2]
    if not filename or len(filename) > _LONGEST_NAME or not filename.isprintable():
        raise InvalidImport("The upload has no usable file name. Name it, such as memory.zip.")
    if filename.lower().endswith(ZIP_ENDING) or content.startswith(_ZIP_MARK):
        return ArchiveTree(filename, content)
    return SingleFileTree(filename, content)


def _join(folder: str, path: str) -> str:
    return "/".join(part for part in (folder, path) if part)
