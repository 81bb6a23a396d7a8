"""Making a backup: one archive, which appears in its folder only when it is complete."""

from __future__ import annotations

import os
from contextlib import closing, contextmanager, suppress

from looseleaf.bundles.backup.archive import ArchiveWriter
from looseleaf.bundles.backup.folder_lock import open_locked_folder
from looseleaf.errors import InUse, Unavailable
from looseleaf.files import atomic
from looseleaf.files.file_copies import CopyChanged
from looseleaf.files.folders import OsErrorContext
from looseleaf.files.output_file import OutputFile
from looseleaf.times import format_time
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from looseleaf.bundles.backup.archive import BackupDescription
    from looseleaf.files.file_copies import FileGroup, FileSource

    ShowProgress = Callable[[int, int], None]

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
