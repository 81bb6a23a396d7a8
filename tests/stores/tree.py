"""Looking at a whole folder at once."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def create_memory_folder() -> Path:
    """Create a folder in memory, if there is one: to test the order of things, not the disk."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    return Path(tempfile.mkdtemp(prefix="looseleaf-", dir=memory))


def read_tree(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return every path below a folder with its mode, its inode and its bytes."""
    entries = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = os.fsencode(os.readlink(path)) if path.is_symlink() else b""
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
        entries[str(path.relative_to(folder))] = (status.st_mode, status.st_ino, content)
    return entries


def list_files_with(folder: Path, secret: bytes) -> list[str]:
    """Name the files below a folder whose bytes contain a secret."""
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and secret in path.read_bytes()
    )
