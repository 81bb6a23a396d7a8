"""The contracts of a source and of its importer, and a folder of this machine as a source."""

from __future__ import annotations

import errno
import os
import stat

from looseleaf.errors.features import ImportSourceMissing, InvalidImport
from looseleaf.files.atomic import FOLDER
from looseleaf.files.folders import READ, open_folder
from looseleaf.memory.scope import MAX_DEPTH
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Final, Protocol

    from looseleaf.features.workflows.definitions import Flow, Pipeline
    from looseleaf.memory.scope import Layer
else:
    Protocol = object


FILE: Final = "file"
SUBFOLDER: Final = "folder"
LINK: Final = "link"
OTHER: Final = "other"  # a device, a socket, a pipe
_CHUNK = 1_048_576
_ATTEMPTS = 3


@value
class TreeEntry:
    """A name in a folder, and what it is: file, folder, link or other."""

    name: str
    kind: str


class SourceTree(Protocol):
    """Folders and files by relative paths with `/`; nothing is trusted, and nothing is written."""

    @property
    def path(self) -> str:
        """The place of the tree, for messages."""

    @property
    def single(self) -> str:
        """The name of the single file; "" for the whole tree."""

    def scan(self, folder: str) -> Iterator[TreeEntry]:
        """Yield the entries of a folder, or raise `OSError`."""

    def read(self, path: str, limit: int) -> bytes | None:
        """Read a file up to one byte more than `limit`, or None if it is no ordinary file."""


class DiskTree:
    """A folder or a single file of this machine; no link is followed below it."""

    def __init__(self, path: str) -> None:
        self.path, self.single = os.path.realpath(path), ""
        if os.path.isfile(self.path):
            self.path, self.single = os.path.split(self.path)
        if not os.path.isdir(self.path):
            raise ImportSourceMissing(path)

    def scan(self, folder: str) -> Iterator[TreeEntry]:
        """Yield the entries of a folder; of the folder around a single file, only that one."""
        if self.single:
            if not folder:
                yield TreeEntry(self.single, FILE)
            return
        with _OpenFolder(self.path, folder) as fd, os.scandir(fd) as entries:
            for entry in entries:
                yield TreeEntry(entry.name, _find_kind(entry))

    def read(self, path: str, limit: int) -> bytes | None:
        """Read a file; a device or pipe that took its place meanwhile is not waited for.

        A file that changes while it is read is read again; raise `OSError` if it keeps changing.
        """
        folder_path, _, name = path.rpartition("/")
        for _ in range(_ATTEMPTS):
            with _OpenFolder(self.path, folder_path) as folder:
                fd = os.open(name, READ | os.O_NONBLOCK, dir_fd=folder)
            try:
                before = os.fstat(fd)
                if not stat.S_ISREG(before.st_mode):
                    return None
                content = self.read_open(fd, limit)
                after = os.fstat(fd)
            finally:
                os.close(fd)
            if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
                return content
        raise OSError(errno.EAGAIN, "it changes while it is read")

    def read_open(self, fd: int, limit: int) -> bytes:
        """Read an open file up to one byte more than `limit`."""
        parts, size = [], 0
        while size <= limit and (part := os.read(fd, min(limit + 1 - size, _CHUNK))):
            parts.append(part)
            size += len(part)
        return b"".join(parts)


def _find_kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return LINK
    if entry.is_dir(follow_symlinks=False):
        return SUBFOLDER
    return FILE if entry.is_file(follow_symlinks=False) else OTHER


class _OpenFolder:
    """A folder below the source, opened part by part without following a link."""

    def __init__(self, root: str, path: str) -> None:
        self._root, self._segments = root, path.split("/") if path else []

    def __enter__(self) -> int:
        root = os.open(self._root, FOLDER & ~os.O_NOFOLLOW)
        try:
            self._fd = open_folder(root, self._segments)
        finally:
            os.close(root)
        return self._fd

    def __exit__(self, *_outcome: object) -> None:
        os.close(self._fd)


# The contract of an importer: it detects a system's layout and reads it as pages.
# An importer only reads. It never writes, neither into the source nor into the workspace.


@value(kw_only=True)
class SourcePage:
    """A page as a source has it, under the name that it gets here.

    Fields:
        filename: The name of the page here.
        text: The text of the page.
        sources: The files of the source that the text is from.
        layer: The layer of the page here.
        agent: The agent of the source that the page belongs to, or "" if a source has one agent.
        user: The user of the source that the page belongs to, or 0 if a source has one user.
        note: A remark for the report.
    """

    filename: str
    text: str
    sources: tuple[str, ...]
    layer: Layer = "agent"
    agent: str = ""
    user: int = 0
    note: str = ""


@value
class SourcePipeline:
    """A pipeline of a source, with its flows; all ids are those of the source.

    Fields:
        pipeline: The pipeline.
        flows: Its flows, whose schedules are paused.
        agent: The agent of the source that it belongs to; "" if a source has one agent.
    """

    pipeline: Pipeline
    flows: tuple[Flow, ...] = ()
    agent: str = ""


@value
class SourceUpload:
    """An uploaded file of a pipeline or flow.

    Fields:
        pipeline: The id of the pipeline in the source.
        flow: The id of the flow in the source; 0 for a context file of the pipeline.
        name: The name of the file.
        content: Its bytes.
        source: The file of the source.
    """

    pipeline: int
    flow: int
    name: str
    content: bytes
    source: str


@value
class SourceContent:
    """The content of a source, and the files in it that are not imported."""

    pages: tuple[SourcePage, ...]
    left_out: tuple[NotImported, ...] = ()
    pipelines: tuple[SourcePipeline, ...] = ()
    uploads: tuple[SourceUpload, ...] = ()


@value
class Importer:
    """One system that memory is imported from.

    Fields:
        kind: The short name of the system, as `--from` takes it.
        title: The name of the system for people.
        example: A usual path of its memory.
        detect: Says by which files a folder is recognized, or "" if it is another system's.
        read: Reads the pages of a folder.
    """

    kind: str
    title: str
    example: str
    detect: Callable[[SourceFolder], str]
    read: Callable[[SourceFolder], SourceContent]


# A file of a source that is not imported.


@value
class NotImported:
    """A file of the source that is not imported.

    Fields:
        source: The file or folder, or a line of a file.
        reason: The reason.
    """

    source: str
    reason: str


# A folder of another system, read without following a link and within limits.
# Nothing in the folder is trusted: each file that cannot be read is noted in `refusals` with
# the reason, so that the report of an import is complete.


MOST_ENTRIES = 100_000
LARGEST_FILE = 2_000_000
MOST_BYTES = 100_000_000
_UTF8_MARK = "\ufeff"


@value
class SourceLimits:
    """The limits of one source.

    Fields:
        entries: The number of files and folders that are looked at.
        file_bytes: The size of one file.
        bytes: The size of all files that are read.
        depth: The number of folders above a file.
    """

    entries: int = MOST_ENTRIES
    file_bytes: int = LARGEST_FILE
    bytes: int = MOST_BYTES
    depth: int = MAX_DEPTH


LIMITS = SourceLimits()


class SourceFolder:
    """A folder or a single file of another system; paths are relative and have `/`."""

    def __init__(self, source: str | SourceTree, *, limits: SourceLimits = LIMITS) -> None:
        self._tree: SourceTree = DiskTree(source) if isinstance(source, str) else source
        self._limits = limits
        self._refusals: dict[str, str] = {}
        self._listings: dict[str, tuple[list[str], list[str]]] = {}
        self._entry_count = self._byte_count = 0
        self._texts: dict[str, str] = {}

    @property
    def path(self) -> str:
        """The path of the folder, or of the folder around the single file."""
        return self._tree.path

    @property
    def single(self) -> str:
        """The name of the single file; "" for the whole folder."""
        return self._tree.single

    @property
    def location(self) -> str:
        """The absolute path of the folder, or of the single file."""
        return os.path.join(self.path, self.single) if self.single else self.path

    @property
    def name(self) -> str:
        """The last part of the path of the folder."""
        return os.path.basename(self.path)

    @property
    def refusals(self) -> list[NotImported]:
        """Every file and folder that could not be read, with the reason, by name."""
        return [NotImported(source, reason) for source, reason in sorted(self._refusals.items())]

    def refuse(self, source: str, reason: str) -> None:
        """Record that a file or folder is not imported."""
        self._refusals.setdefault(source, reason)

    def has_file(self, path: str) -> bool:
        """Return whether there is an ordinary file at this path."""
        folder, _, name = path.rpartition("/")
        return name in self._list(folder)[0]

    def has_folder(self, path: str) -> bool:
        """Return whether there is a folder at this path."""
        parent, _, name = path.rpartition("/")
        return name in self._list(parent)[1]

    def files(self, folder: str = "") -> list[str]:
        """List the ordinary files directly in a folder, by name."""
        return [_join(folder, name) for name in self._list(folder)[0]]

    def folders(self, folder: str = "") -> list[str]:
        """List the folders directly in a folder, by name; hidden folders are among them."""
        return [_join(folder, name) for name in self._list(folder)[1]]

    def walk(self, folder: str = "", *, skip: tuple[str, ...] = ()) -> Iterator[str]:
        """Yield every file below a folder, by name; hidden folders are noted and not entered.

        The folders of `skip` are not entered, either; the caller notes why.
        """
        yield from self.files(folder)
        for child in self.folders(folder):
            if child in skip:
                continue
            if child.rpartition("/")[2].startswith("."):
                self.refuse(f"{child}/", "it is a hidden folder")
            elif child.count("/") >= self._limits.depth:
                self.refuse(f"{child}/", f"it is more than {self._limits.depth} folders deep")
            else:
                yield from self.walk(child, skip=skip)

    def read(self, path: str) -> str | None:
        """Read a file as text, or None if it cannot be read, which is noted."""
        if path not in self._texts:
            content = self.read_bytes(path)
            if content is None:
                return None
            text, reason = _decode(content)
            if text is None:
                self.refuse(path, reason)
                return None
            self._texts[path] = text
        return self._texts[path]

    def read_bytes(self, path: str) -> bytes | None:
        """Read a file, or None if it cannot be read, which is noted."""
        largest = self._limits.file_bytes
        try:
            content = self._tree.read(path, largest)
        except OSError as error:
            self.refuse(path, f"it cannot be read: {error.strerror or error}")
            return None
        if content is None:
            self.refuse(path, "it is not an ordinary file")
        elif len(content) > largest:
            self.refuse(path, f"it has more than {largest:,} bytes")
        else:
            self._count_bytes(len(content))
            return content
        return None

    def _count_bytes(self, size: int) -> None:
        self._byte_count += size
        if self._byte_count > self._limits.bytes:
            raise InvalidImport(
                f"The source has more than {self._limits.bytes:,} bytes to import. Import a part "
                "of it, such as one of its folders."
            )

    def _list(self, folder: str) -> tuple[list[str], list[str]]:
        """List the names of the files and folders in a folder; each folder is listed once."""
        if folder not in self._listings:
            self._listings[folder] = self._scan(folder)
        return self._listings[folder]

    def _scan(self, folder: str) -> tuple[list[str], list[str]]:
        files: list[str] = []
        folders: list[str] = []
        try:
            for entry in self._tree.scan(folder):
                self._entry_count += 1
                if self._entry_count > self._limits.entries:
                    reason = f"the source has more than {self._limits.entries:,} entries"
                    self.refuse(f"{folder}/…", f"{reason}; the others were not looked at")
                    break
                self._sort_entry(folder, entry, files, folders)
        except FileNotFoundError:
            return [], []
        except OSError as error:
            self.refuse(f"{folder}/", f"it cannot be read: {error.strerror or error}")
        return sorted(files), sorted(folders)

    def _sort_entry(
        self, folder: str, entry: TreeEntry, files: list[str], folders: list[str]
    ) -> None:
        path = _join(folder, entry.name)
        try:
            entry.name.encode()
        except UnicodeEncodeError:
            name = path.encode(errors="surrogateescape").decode(errors="backslashreplace")
            self.refuse(name, "its name is not UTF-8")
            return
        if entry.kind == LINK:
            self.refuse(path, "it is a link, and links are not followed")
        elif entry.kind == SUBFOLDER:
            folders.append(entry.name)
        elif entry.kind == FILE:
            files.append(entry.name)
        else:
            self.refuse(path, "it is not an ordinary file")


def _decode(content: bytes) -> tuple[str | None, str]:
    """Return bytes as text, or the reason why they are none."""
    if b"\0" in content:
        return None, "it is not text"
    try:
        return content.decode().removeprefix(_UTF8_MARK), ""
    except UnicodeDecodeError as error:
        return None, f"it is not UTF-8 (byte {error.start})"


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
