"""Copying a folder of the workspace, file by file; links and devices in it are left out."""

from __future__ import annotations

import os

from looseleaf.files import atomic
from looseleaf.files.file_copies import FileCopy, FileGroup, copy_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Progress = tuple[int, int]

NOT_PLAIN = "it is a link or a device"
_MOST_DEPTH, _MOST_NOTES = 64, 10_000
_FOLDER_MODE = 0o700


class FolderCopies:
    """Gives groups of one file each, for everything below an open folder."""

    def __init__(self, left_out: list[str], progress: Progress) -> None:
        self.left_out, self.progress = left_out, progress

    def leave_out(self, path: bytes, reason: str) -> None:
        """Record a file that cannot be copied, up to a limit of notes."""
        if len(self.left_out) < _MOST_NOTES:
            self.left_out.append(f"{os.fsdecode(path)}: {reason}")

    def walk(self, folder: int, path: bytes, depth: int = 0) -> Iterator[tuple[int, str, bytes]]:
        """Yield every file that can be copied: its open folder, its name, and its path."""
        device = os.fstat(folder).st_dev
        for name, is_folder, is_file in list_folder(folder):
            inner_path = path + b"/" + os.fsencode(name)
            if is_file:
                yield folder, name, inner_path
            elif not is_folder:
                self.leave_out(inner_path, NOT_PLAIN)
            elif depth >= _MOST_DEPTH:
                self.leave_out(inner_path, f"it lies more than {_MOST_DEPTH} folders deep")
            else:
                yield from self._walk_inner(folder, name, inner_path, device, depth + 1)

    def _walk_inner(
        self, folder: int, name: str, path: bytes, device: int, depth: int
    ) -> Iterator[tuple[int, str, bytes]]:
        try:
            inner = os.open(name, atomic.FOLDER, dir_fd=folder)
        except (FileNotFoundError, NotADirectoryError):
            return  # moved or removed since it was listed
        try:
            if os.fstat(inner).st_dev != device:
                self.leave_out(path, "it lies on another file system")
                return
            is_empty = True
            for entry in self.walk(inner, path, depth):
                is_empty = False
                yield entry
            if is_empty and not os.listdir(inner):
                yield inner, "", path
        finally:
            os.close(inner)

    def groups(self, folder: int, path: bytes) -> Iterator[FileGroup]:
        """Yield a group for each file below a folder."""
        for entry in self.walk(folder, path):
            yield self.group_of(*entry)

    def group_of(self, folder: int, name: str, path: bytes) -> FileGroup:
        """Return the group of one file; without a name, of an empty folder."""

        def read(_hold: bool) -> Iterator[FileCopy]:  # noqa: FBT001 - as a group has it
            if not name:
                yield FileCopy(path, _FOLDER_MODE, 0, 0, (), is_folder=True)
                return
            try:
                copy = copy_file(folder, name, path)
            except FileNotFoundError:
                return  # removed since it was listed
            if copy is None:
                self.leave_out(path, NOT_PLAIN)
            else:
                yield copy

        return FileGroup(read, self.progress)


def list_folder(folder: int) -> list[tuple[str, bool, bool]]:
    """List the entries of an open folder by name: name, whether a folder, whether a file."""
    with os.scandir(folder) as entries:
        return sorted(
            (entry.name, entry.is_dir(follow_symlinks=False), entry.is_file(follow_symlinks=False))
            for entry in entries
        )
