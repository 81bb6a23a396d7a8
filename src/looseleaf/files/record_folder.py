"""Records of Looseleaf: small JSON files below `.looseleaf`, written durably, under a lock."""

from __future__ import annotations

import json
import os
import stat
from contextlib import contextmanager

from looseleaf.errors import Unavailable
from looseleaf.files import atomic
from looseleaf.files.folders import READ, OsErrorContext, open_folder, open_root, read_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType
    from typing import Any

HOME = ".looseleaf"
SUFFIX = ".json"
_LOCK = "lock"


class RecordFolder:
    """One folder of records, each a JSON object with a name; the first write creates the folder."""

    def __init__(self, root: str, *segments: str) -> None:
        self.root = root
        self.segments = (HOME, *segments)
        self.label = "/".join(self.segments)

    def write(self, name: str, record: Mapping[str, Any]) -> None:
        """Write a record; on return it survives a power cut."""
        content = json.dumps(record, ensure_ascii=False, indent=1).encode()
        with _RecordErrors(self._format_path(name)), self._open(create=True) as (folder, mode):
            atomic.replace(folder, f"{name}{SUFFIX}", content, mode=mode)

    def read(self, name: str) -> dict[str, Any] | None:
        """Read a record, or None if there is none of that name."""
        try:
            with _RecordErrors(self._format_path(name)), self._open() as (folder, _mode):
                fd = os.open(f"{name}{SUFFIX}", READ, dir_fd=folder)
                try:
                    content = read_all(fd)
                finally:
                    os.close(fd)
        except FileNotFoundError:
            return None
        try:
            record = json.loads(content)
        except ValueError as error:
            raise Unavailable(self._format_path(name), f"it is not JSON ({error})") from error
        return record if isinstance(record, dict) else None

    def names(self) -> list[str]:
        """List the names of all records, in order."""
        try:
            with _RecordErrors(self.label), self._open() as (folder, _mode):
                files = os.listdir(folder)
        except FileNotFoundError:
            return []
        return sorted(
            name.removesuffix(SUFFIX)
            for name in files
            if name.endswith(SUFFIX) and not name.startswith(".")
        )

    def folders(self) -> list[str]:
        """List the names of the folders in this one, in order."""
        try:
            with (
                _RecordErrors(self.label),
                self._open() as (folder, _mode),
                os.scandir(folder) as entries,
            ):
                return sorted(
                    entry.name for entry in entries if entry.is_dir(follow_symlinks=False)
                )
        except FileNotFoundError:
            return []

    def remove(self, name: str) -> None:
        """Remove a record, if it is there."""
        try:
            with _RecordErrors(self._format_path(name)), self._open() as (folder, _mode):
                atomic.remove(folder, f"{name}{SUFFIX}")
        except FileNotFoundError:
            return

    @contextmanager
    def lock(self, *, seconds: float = atomic.LOCK_SECONDS) -> Iterator[None]:
        """Hold the lock of the folder while the block runs; other processes wait."""
        with self._open(create=True) as (folder, mode):
            with OsErrorContext(f"{self.label}/{_LOCK}"):
                fd = atomic.open_log(folder, _LOCK, mode=mode)
            try:
                atomic.lock(fd, self.label, seconds=seconds)
                yield
            finally:
                os.close(fd)

    def _format_path(self, name: str) -> str:
        return f"{self.label}/{name}{SUFFIX}"

    @contextmanager
    def _open(self, *, create: bool = False) -> Iterator[tuple[int, int]]:
        """Open the folder; yield the mode of its files, which have the rights of `.looseleaf`."""
        root = open_root(self.root)
        try:
            folder_mode = stat.S_IMODE(os.stat(HOME, dir_fd=root).st_mode)
            with OsErrorContext(self.label) if create else _RecordErrors(self.label):
                folder = open_folder(root, self.segments, create=folder_mode if create else 0)
        finally:
            os.close(root)
        try:
            yield folder, folder_mode & 0o660
        finally:
            os.close(folder)


class _RecordErrors(OsErrorContext):
    """Turn errors about a record into our own, but leave `FileNotFoundError` as it is."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not isinstance(error, FileNotFoundError):
            super().__exit__(kind, error, trace)
