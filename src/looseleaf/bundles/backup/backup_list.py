"""The backups in a folder: which there are, how old they are, and which of them may go."""

from __future__ import annotations

import os
import stat

from looseleaf.bundles.backup import tar_format
from looseleaf.bundles.backup.archive import CHECKSUM, format_checksum
from looseleaf.bundles.backup.archive_reader import ArchiveReader
from looseleaf.bundles.backup.creation import SUFFIX
from looseleaf.errors import LooseleafError
from looseleaf.files import atomic
from looseleaf.files.folders import OsErrorContext
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.bundles.backup.archive import BackupDescription

_MOST_CHECKSUM_BYTES = 256  # of the text of the last member, which fits into one block


@value
class ListedBackup:
    """An archive in a folder, as its first and last members describe it.

    Fields:
        name: The name of the file.
        path: The path of the file.
        size: The size of the file, in bytes.
        description: What the archive says about itself.
        is_whole: True if the end is there; only verifying compares every byte.
    """

    name: str
    path: str
    size: int
    description: BackupDescription
    is_whole: bool


def list_backups(folder: str) -> list[ListedBackup]:
    """List the backups of a folder, newest first; other files are not listed."""
    backups = []
    with OsErrorContext(folder):
        try:
            names = os.listdir(folder)
        except FileNotFoundError:
            return []
    for name in names:
        if name.endswith(SUFFIX) and not name.startswith("."):
            backup = _read_backup(folder, name)
            backups += [backup] if backup is not None else []
    return sorted(backups, key=lambda backup: (-backup.description.created, backup.name))


def _read_backup(folder: str, name: str) -> ListedBackup | None:
    path = os.path.join(folder, name)
    try:
        with ArchiveReader(path) as reader:
            description = reader.read_description()
    except LooseleafError:
        return None  # another program's archive, or no file
    size = os.stat(path).st_size
    return ListedBackup(name, path, size, description, _has_end(path, size))


def _has_end(path: str, size: int) -> bool:
    """Return whether the last member is there, at the position that its text names."""
    start = size - len(tar_format.END) - 2 * tar_format.BLOCK
    if start < 0:
        return False
    with open(path, "rb") as file:
        file.seek(start)
        block, text = file.read(tar_format.BLOCK), file.read(_MOST_CHECKSUM_BYTES)
    try:
        header = tar_format.parse_header(block)
    except LooseleafError:
        return False
    digest = text[:64].decode("ascii", "replace")
    return header.path == CHECKSUM and text[: header.size] == format_checksum(digest, start)


def remove_old_backups(folder: str, workspace: str, keep: int) -> list[str]:
    """Remove the oldest whole backups of a workspace beyond a number; return the names removed."""
    whole_backups = [
        backup
        for backup in list_backups(folder)
        if backup.is_whole and backup.description.workspace == workspace
    ]
    names = [backup.name for backup in whole_backups[keep:]] if keep > 0 else []
    with OsErrorContext(folder):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in names:
                if stat.S_ISREG(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
                    atomic.remove(fd, name)
            atomic.sync(fd)
        finally:
            os.close(fd)
    return names
