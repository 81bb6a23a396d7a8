"""Uploaded files of pipelines and flows: their folders, and the contract of their store.

The context files of a pipeline are reference material for its prompts; the files of a flow are
input for its runs. Neither is a page: they have no history, and may be of any allowed type.
"""

from __future__ import annotations

from looseleaf.errors import InvalidName
from looseleaf.errors.workflows import InvalidUpload
from looseleaf.memory.scope import check_folder
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Protocol

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
