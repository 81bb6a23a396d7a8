"""Making a backup, which appears in its folder when it is complete; and listing backups."""

from __future__ import annotations

import os
import stat
from contextlib import closing, contextmanager, suppress

from looseleaf.errors import InUse, Locked, LooseleafError, Unavailable
from looseleaf.features.backup import archive as tar_format
from looseleaf.features.backup.archive import (
    CHECKSUM,
    ArchiveReader,
    ArchiveWriter,
    OutputFile,
    format_checksum,
)
from looseleaf.features.backup.folder_copies import CopyChanged
from looseleaf.files import atomic
from looseleaf.files.folders import OsErrorContext
from looseleaf.times import format_time
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from looseleaf.features.backup.archive import BackupDescription
    from looseleaf.features.backup.folder_copies import FileGroup, FileSource

    ShowProgress = Callable[[int, int], None]


# The lock on a folder that backups are written into, or that a workspace is restored into.


@contextmanager
def open_locked_folder(path: str, activity: str) -> Iterator[int]:
    """Open a folder for one process at a time, and create it if it is missing.

    `activity` names what the process does, for the message to a second one.
    """
    os.makedirs(path, mode=0o700, exist_ok=True)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            atomic.lock(folder, path, seconds=0.0)
        except Locked:
            reason = f"another {activity} is under way in it; wait for its end"
            raise InUse(path, reason) from None
        yield folder
    finally:
        os.close(folder)


SUFFIX, PREFIX = ".tar", "looseleaf-"
PARTIAL, ARCHIVE = ".partial", "archive"
_ATTEMPTS = 4  # to copy a group that changes meanwhile; the last one keeps writers out
_MOST_NAMES = 1_000


@value
class BackupResult:
    """A backup that was made.

    Fields:
        path: The archive.
        files: The number of files of the workspace in it.
        content_bytes: The number of bytes in them.
        size: The size of the archive, in bytes.
        left_out: What could not be copied, each with the reason.
    """

    path: str
    files: int
    content_bytes: int
    size: int
    left_out: tuple[str, ...]


def create_backup(
    source: FileSource,
    description: BackupDescription,
    folder_path: str,
    *,
    show_progress: ShowProgress = lambda _bytes_done, _total: None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> BackupResult:
    """Copy everything that a source gives into a new archive; after a failure, there is none."""
    with OsErrorContext(folder_path), open_locked_folder(folder_path, "backup") as folder:
        _remove_leftovers(folder)
        name = _choose_name(folder, description.created)
        with _open_scratch_folder(folder, f".{name}{PARTIAL}") as scratch:
            with (
                closing(OutputFile(scratch, ARCHIVE)) as archive,
                closing(OutputFile(scratch, "manifest")) as manifest,
            ):
                writer = ArchiveWriter(archive, manifest)
                writer.begin(description)
                for group in source.groups(os.path.join(folder_path, f".{name}{PARTIAL}")):
                    if is_cancelled():
                        raise Unavailable("The backup", "it was cancelled")
                    _copy_group(writer, group)
                    show_progress(*group.progress)
                left_out = tuple(source.left_out[:_MOST_NAMES])
                writer.finish(left_out, int(description.created))
                size = archive.position()
            atomic.move(scratch, ARCHIVE, folder, name)
            try:
                atomic.sync(folder)
            except BaseException:
                atomic.remove(folder, name)
                raise
    path = os.path.join(folder_path, name)
    return BackupResult(path, writer.file_count, writer.content_bytes, size, left_out)


@contextmanager
def _open_scratch_folder(parent: int, name: str) -> Iterator[int]:
    """Create a folder for the files of an unfinished backup, and remove it at the end."""
    try:
        atomic.create_folder(parent, name)
        scratch = os.open(name, atomic.FOLDER, dir_fd=parent)
        try:
            yield scratch
        finally:
            os.close(scratch)
    finally:
        with suppress(OSError):  # the next backup removes what is left
            atomic.remove_tree(parent, name)


def _copy_group(writer: ArchiveWriter, group: FileGroup) -> None:
    """Add a group; if a file changes on the way, take back what was added and begin again."""
    mark = writer.mark()
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            writer.add(group.read_copies(attempt == _ATTEMPTS))
        except CopyChanged as error:
            writer.rewind(mark)
            if attempt == _ATTEMPTS:
                reason = "a program outside Looseleaf keeps writing to it"
                raise InUse(f"The file {error}", reason) from None
        else:
            return


def _remove_leftovers(folder: int) -> None:
    """Remove the files of killed backups; the lock of the folder ensures that none is running."""
    for name in os.listdir(folder):
        if name.startswith(".") and name.endswith(f"{SUFFIX}{PARTIAL}"):
            atomic.remove_tree(folder, name)


def _choose_name(folder: int, created: float) -> str:
    names = set(os.listdir(folder))
    stem = PREFIX + "".join(sign for sign in format_time(created) if sign.isalnum())
    numbers = range(2, len(names) + 3)
    candidates = (f"{stem}{SUFFIX}", *(f"{stem}-{number}{SUFFIX}" for number in numbers))
    return next(name for name in candidates if name not in names)


# The backups in a folder: which there are, how old they are, and which of them may go.


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
