"""Pages as plain files in a folder: written whole, and over no other file unless asked to."""

from __future__ import annotations

import os

from looseleaf.errors.bundles import InvalidExport
from looseleaf.files import atomic
from looseleaf.files.folders import READ, OsErrorContext, open_folder, read_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

WRITTEN: Final = "written"
UNCHANGED: Final = "unchanged"
KEPT: Final = "kept"  # another file of this name is there
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FOLDER_MODE, _FILE_MODE = 0o700, 0o600  # memory is private, wherever it lies


def write_files(path: str, files: Mapping[str, bytes], *, replace: bool = False) -> dict[str, str]:
    """Write files below a folder, which is created if it is missing; return the result for each.

    A file that is there with other bytes is kept, unless `replace` says otherwise. No link is
    followed below the folder.
    """
    root = _open_root(path)
    try:
        return {
            name: _write_file(root, name, content, replace=replace)
            for name, content in files.items()
        }
    finally:
        os.close(root)


def _open_root(path: str) -> int:
    parent, name = os.path.split(os.path.abspath(path))
    if not os.path.isdir(parent):
        raise InvalidExport(f"There is no folder {parent} that could hold {name}. Make it first.")
    if os.path.lexists(path) and not os.path.isdir(path):
        raise InvalidExport(f"{path} is no folder. Name a folder, or a path where none is yet.")
    with OsErrorContext(path):
        if not os.path.isdir(path):
            parent_fd = os.open(parent, _FOLDER)
            try:
                atomic.create_folder(parent_fd, name, mode=_FOLDER_MODE)
            finally:
                os.close(parent_fd)
        return os.open(path, _FOLDER)


def _write_file(root: int, name: str, content: bytes, *, replace: bool) -> str:
    *folders, filename = name.split("/")
    with OsErrorContext(name):
        folder = open_folder(root, folders, create=_FOLDER_MODE, twins=True)
        try:
            current = _read_file(folder, filename)
            if current == content:
                return UNCHANGED
            if current is not None and not replace:
                return KEPT

            def is_unchanged() -> bool:
                return _read_file(folder, filename) == current

            is_written = atomic.replace(
                folder, filename, content, mode=_FILE_MODE, condition=is_unchanged
            )
            return WRITTEN if is_written else KEPT
        finally:
            os.close(folder)


def _read_file(folder: int, name: str) -> bytes | None:
    try:
        fd = os.open(name, READ, dir_fd=folder)
    except FileNotFoundError:
        return None
    try:
        return read_all(fd)
    finally:
        os.close(fd)
