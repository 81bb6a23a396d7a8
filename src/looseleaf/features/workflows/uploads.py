"""Uploaded files of pipelines and flows: their folders, and the contract of their store.

The context files of a pipeline are reference material for its prompts; the files of a flow are
input for its runs. Neither is a page: they have no history, and may be of any allowed type.
"""

from __future__ import annotations

import os

from looseleaf.errors import InvalidName
from looseleaf.errors.features import FileMissing, InvalidUpload, UploadTooLarge
from looseleaf.files import atomic
from looseleaf.files.folders import READ, OsErrorContext, check_regular, open_folder, refuse_twin
from looseleaf.memory.scope import check_folder
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Protocol

    from looseleaf.files.root_folder import RootFolder
    from looseleaf.settings import Settings
else:
    Protocol = object


_TYPES = {
    ".csv": "text/csv",
    ".gif": "image/gif",
    ".html": "text/html",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".json": "application/json",
    ".jsonl": "application/x-ndjson",
    ".markdown": "text/markdown",
    ".md": "text/markdown",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".tsv": "text/tab-separated-values",
    ".txt": "text/plain",
    ".webp": "image/webp",
    ".xml": "application/xml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}


@value
class FileFolder:
    """A folder of uploaded files, below the root of the workspace."""

    pipeline_id: int
    flow_id: int = 0  # 0: the context files of the pipeline

    @property
    def segments(self) -> tuple[str, ...]:
        """The names of the folders that lead to it."""
        pipeline = f"pipeline-{self.pipeline_id}"
        if not self.flow_id:
            return pipeline, "context"
        return pipeline, f"flow-{self.flow_id}", f"flow-{self.flow_id}-files"

    @property
    def path(self) -> str:
        """Its path below the root."""
        return "/".join(self.segments)


@value
class StoredFile:
    """An uploaded file in its folder."""

    name: str
    size: int
    modified: float


@value
class FileLimits:
    """The bounds of uploads into one folder."""

    size: int
    count: int
    types: tuple[str, ...]  # endings of names, each with its dot


class WorkflowFiles(Protocol):
    """The uploaded files of pipelines and flows."""

    def list(self, folder: FileFolder) -> list[StoredFile]:
        """List the files of a folder by name, empty if there is no folder."""

    def put(
        self, folder: FileFolder, name: str, parts: Iterable[bytes], limits: FileLimits
    ) -> StoredFile:
        """Store a file part by part, whole or not at all; it replaces a file of the same name."""

    def read(self, folder: FileFolder, name: str) -> Iterator[bytes]:
        """Yield the bytes of a file in parts; raise `FileMissing` if there is none."""

    def delete(self, folder: FileFolder, name: str) -> None:
        """Remove a file; raise `FileMissing` if there is none."""

    def remove_all(self, folder: FileFolder) -> int:
        """Remove every file of a folder; return how many there were."""


def limits_of(settings: Settings) -> FileLimits:
    """Return the bounds of uploads from the settings."""
    types = tuple(kind.lower() for kind in settings.upload_types)
    return FileLimits(settings.max_upload_bytes, settings.max_uploads, types)


def check_upload_name(name: str, types: tuple[str, ...]) -> str:
    """Return the name of an upload, or raise if no file can have it; folders are refused."""
    check_folder(name)
    if "/" in name:
        raise InvalidName(name, "an uploaded file lies in no folder of its own")
    if not name.lower().endswith(types):
        raise InvalidUpload(name, f"its type is none of {', '.join(types)}")
    return name


def media_type_of(name: str) -> str:
    """Return the media type of a file by its ending."""
    _, dot, ending = name.rpartition(".")
    return _TYPES.get(f"{dot}{ending.lower()}", "application/octet-stream")


# Uploaded files on disk: streamed beside their place, then moved into it; links are refused.


PART_BYTES = 1_048_576  # as many are written, and synced, at once
_STAGING = ".upload-"  # names of files that are on their way; listings leave them out


class UploadFolders:
    """The uploaded files below one root folder."""

    def __init__(self, root: RootFolder, modes: tuple[int, int]) -> None:
        self._root, self._modes = root, modes

    def list(self, folder: FileFolder) -> list[StoredFile]:
        """List the files of a folder by name, empty if there is no folder."""
        with OsErrorContext(folder.path):
            fd = self._open(folder)
            if fd is None:
                return []
            try:
                with os.scandir(fd) as entries:
                    files = [
                        StoredFile(entry.name, status.st_size, status.st_mtime)
                        for entry in entries
                        if not entry.name.startswith(".")
                        and entry.is_file(follow_symlinks=False)
                        and (status := entry.stat(follow_symlinks=False))
                    ]
            finally:
                os.close(fd)
        return sorted(files, key=lambda file: file.name)

    def put(
        self, folder: FileFolder, name: str, parts: Iterable[bytes], limits: FileLimits
    ) -> StoredFile:
        """Store a file part by part, in the place of one of the same name; whole or not at all."""
        check_upload_name(name, limits.types)
        with OsErrorContext(f"{folder.path}/{name}"):
            fd = self._create(folder)
            try:
                names = [file.name for file in self.list(folder)]
                if name not in names and len(names) >= limits.count:
                    raise InvalidUpload(name, f"the folder has {limits.count} files already")
                refuse_twin(fd, name)
                return self._receive(fd, name, parts, limits.size)
            finally:
                os.close(fd)

    def read(self, folder: FileFolder, name: str) -> Iterator[bytes]:
        """Yield the bytes of a file in parts; raise `FileMissing` if there is none."""
        file = self._open_file(folder, name)
        try:
            while part := os.read(file, PART_BYTES):
                yield part
        finally:
            os.close(file)

    def delete(self, folder: FileFolder, name: str) -> None:
        """Remove a file; raise `FileMissing` if there is none."""
        os.close(self._open_file(folder, name))
        with OsErrorContext(f"{folder.path}/{name}"):
            fd = self._open(folder)
            if fd is None:
                raise FileMissing(name, folder.path)
            try:
                atomic.remove(fd, name)
                atomic.sync(fd)
            finally:
                os.close(fd)

    def remove_all(self, folder: FileFolder) -> int:
        """Remove every file of a folder; return how many there were."""
        count = len(self.list(folder))
        *parents, last = folder.segments
        root = self._root.open()
        try:
            with OsErrorContext(folder.path):
                try:
                    parent = open_folder(root, parents)
                except FileNotFoundError:
                    return 0
                try:
                    atomic.remove_tree(parent, last)
                finally:
                    os.close(parent)
        finally:
            os.close(root)
        return count

    def _open(self, folder: FileFolder) -> int | None:
        """Open a folder without following links, or None if it is not there."""
        root = self._root.open()
        try:
            return open_folder(root, folder.segments)
        except FileNotFoundError:
            return None
        finally:
            os.close(root)

    def _create(self, folder: FileFolder) -> int:
        """Open a folder without following links; it is created if it is not there."""
        root = self._root.open()
        try:
            return open_folder(root, folder.segments, create=self._modes[1])
        finally:
            os.close(root)

    def _open_file(self, folder: FileFolder, name: str) -> int:
        if name.startswith(".") or "/" in name or "\0" in name:
            raise FileMissing(name, folder.path)
        with OsErrorContext(f"{folder.path}/{name}"):
            fd = self._open(folder)
            if fd is None:
                raise FileMissing(name, folder.path)
            try:
                file = os.open(name, READ, dir_fd=fd)
                try:
                    check_regular(name, os.fstat(file), os.fstat(fd).st_dev)
                except BaseException:
                    os.close(file)
                    raise
                return file
            except FileNotFoundError:
                raise FileMissing(name, folder.path) from None
            finally:
                os.close(fd)

    def _receive(self, fd: int, name: str, parts: Iterable[bytes], limit: int) -> StoredFile:
        """Write the parts to a file of its own, then give it the name."""
        staging = f"{_STAGING}{os.urandom(8).hex()}"
        file, _ = atomic.create(fd, staging, b"", mode=self._modes[0])
        try:
            size = 0
            for part in _limit_parts(parts, name, limit):
                atomic.append(file, part, size)
                size += len(part)
            atomic.sync(file)
            atomic.move(fd, staging, fd, name)
            status = os.fstat(file)
        except BaseException:
            atomic.remove(fd, staging)
            raise
        finally:
            os.close(file)
        atomic.sync(fd)
        return StoredFile(name, status.st_size, status.st_mtime)


def _limit_parts(parts: Iterable[bytes], name: str, limit: int) -> Iterator[bytes]:
    """Pass the parts on, up to the limit; `UploadTooLarge` beyond it."""
    size = 0
    for part in parts:
        size += len(part)
        if size > limit:
            raise UploadTooLarge(name, size, limit)
        yield part
