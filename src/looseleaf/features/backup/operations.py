"""Backups: making one while the workspace is in use, every night too; listing, verifying."""

from __future__ import annotations

import os

from looseleaf.catalog.declaration import operation
from looseleaf.errors import Invalid, InvalidArgument
from looseleaf.errors.features import InvalidBackup
from looseleaf.features.backup.archive import open_archive
from looseleaf.features.backup.creation import remove_old_backups
from looseleaf.features.workflows.system_tasks import SystemTask, TaskResult
from looseleaf.files.mounts import choose_unit
from looseleaf.files.root_folder import RootFolder, read_identity
from looseleaf.times import format_time
from looseleaf.values import value
from looseleaf.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.catalog.context import Context
    from looseleaf.features.backup.creation import ListedBackup
    from looseleaf.features.workflows.system_tasks import TaskRun
    from looseleaf.settings import Settings


SQLITE, POSTGRESQL, NO_DATABASE = "sqlite", "postgresql", "none"
_PROGRESS_STEPS = 20  # lines that a terminal shows of one long act


@value(kw_only=True)
class BackupInfo:
    """A backup in the folder of backups.

    Fields:
        name: The name of the archive.
        path: The path of the archive on the machine of the workspace.
        created: The time at which the backup began, in UTC.
        age: The seconds since then.
        size: The size of the archive, in bytes.
        workspace: The id of the workspace.
        workspace_name: The name of the workspace, for people.
        is_own: Whether it is a backup of this workspace.
        is_whole: Whether the end of the archive is there; verifying compares every byte.
        database: The kind of the database in it: sqlite, postgresql or none.
        program: The version of Looseleaf that made it.
    """

    name: str
    path: str
    created: str
    age: int
    size: int
    workspace: str
    workspace_name: str
    is_own: bool
    is_whole: bool
    database: str
    program: str


@value(kw_only=True)
class NewBackup:
    """A backup that was made just now.

    Fields:
        name: The name of the archive.
        path: The path of the archive on the machine of the workspace.
        created: The time at which the backup began, in UTC.
        size: The size of the archive, in bytes.
        files: The number of files in it.
        content_bytes: The number of bytes in these files.
        database: The kind of the database in it: sqlite, postgresql or none.
        left_out: What could not be copied, each with the reason.
    """

    name: str
    path: str
    created: str
    size: int
    files: int
    content_bytes: int
    database: str
    left_out: tuple[str, ...]


@value
class BackupVerdict:
    """What reading a whole backup has found.

    Fields:
        name: The name of the archive.
        fault: What is not in order, or "" if every hash is right.
        created: The time at which the backup began, in UTC, or "" if a fault hides it.
        files: The number of files in it.
        content_bytes: The number of bytes in these files.
        left_out: What could not be copied when the backup was made.
    """

    name: str
    fault: str
    created: str = ""
    files: int = 0
    content_bytes: int = 0
    left_out: tuple[str, ...] = ()


@operation("looseleaf/create-backup", permission="operate", categories=("backup",))
def create_backup(context: Context, *, folder: str = "") -> NewBackup:
    """Write a backup of the whole workspace into the folder of backups; others may write meanwhile.

    Arguments:
        folder: The folder that the archive goes into, "" for that of the settings; only the
            operator on this machine chooses one.
    """
    context.allow()
    return write_backup(
        context.settings,
        _choose_folder(context, folder),
        context.clock(),
        show_progress=lambda files_done, total: context.parts.show_progress(
            "Backing up", files_done, total
        ),
    )


def write_backup(
    settings: Settings,
    folder: str,
    now: float,
    *,
    show_progress: Callable[[int, int], None] = lambda _bytes_done, _total: None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> NewBackup:
    """Write a backup of a workspace into a folder."""
    from looseleaf.features.backup import creation
    from looseleaf.features.backup.archive import FORMAT, BackupDescription
    from looseleaf.features.backup.source import WorkspaceFiles

    root = os.path.realpath(settings.root)
    description = BackupDescription(
        format=FORMAT,
        program=__version__,
        created=float(now),
        workspace=read_identity(root),
        name=settings.name,
        database=_name_database(settings, root),
        group_writable=settings.group_writable,
    )
    result = creation.create_backup(
        WorkspaceFiles(
            RootFolder(root),
            has_sqlite=description.database == SQLITE,
            database_url=settings.database_url,
        ),
        description,
        folder,
        show_progress=in_steps(show_progress),
        is_cancelled=is_cancelled,
    )
    return NewBackup(
        name=os.path.basename(result.path),
        path=result.path,
        created=format_time(now),
        size=result.size,
        files=result.files,
        content_bytes=result.content_bytes,
        database=description.database,
        left_out=result.left_out,
    )


@operation("looseleaf/list-backups", permission="operate", categories=("backup",), read_only=True)
def list_backups(context: Context, *, folder: str = "") -> list[BackupInfo]:
    """List the backups in the folder of backups, newest first, with their age.

    Arguments:
        folder: The folder to look at, "" for that of the settings; only the operator on this
            machine chooses one.
    """
    from looseleaf.features.backup import creation

    context.allow()
    identity = read_identity(os.path.realpath(context.settings.root))
    if not folder and not context.settings.backup_folder:
        return []
    backups = creation.list_backups(_choose_folder(context, folder))
    return [_describe(backup, identity, context.clock()) for backup in backups]


@operation("looseleaf/verify-backup", permission="operate", categories=("backup",), read_only=True)
def verify_backup(context: Context, name: str, *, folder: str = "") -> BackupVerdict:
    """Read a whole backup, and compare every file and the archive itself with their hashes.

    Arguments:
        name: The name of the archive.
        folder: The folder that the archive lies in, "" for that of the settings; only the
            operator on this machine chooses one.
    """
    from looseleaf.features.backup.archive import open_archive

    context.allow()
    if "/" in name or name.startswith(".") or "\0" in name:
        raise InvalidArgument("name", "it is the name of a file in the folder of backups")
    path = os.path.join(_choose_folder(context, folder), name)
    with open_archive(path) as reader:
        show = in_steps(lambda bytes_done, total: _show_bytes(context, bytes_done, total))
        try:
            content = reader.read_all(lambda _header, _chunks: show(reader.position, reader.size))
        except InvalidBackup as error:
            return BackupVerdict(name, error.why)
    created = format_time(content.description.created)
    return BackupVerdict(name, "", created, content.files, content.content_bytes, content.left_out)


def _show_bytes(context: Context, bytes_done: int, total: int) -> None:
    unit, factor = choose_unit(total)
    context.parts.show_progress(f"Verifying, in {unit}", bytes_done // factor, total // factor)


def find_backup_folder(settings: Settings) -> str:
    """Return the folder of backups, seen from the root, or "" if none is set."""
    if not settings.backup_folder:
        return ""
    folder = os.path.expanduser(settings.backup_folder)
    return os.path.normpath(os.path.join(os.path.realpath(settings.root), folder))


def _choose_folder(context: Context, folder: str) -> str:
    if folder and not context.principal.is_local:
        raise InvalidArgument("folder", "the settings of the server name it: backup_folder")
    path = os.path.abspath(os.path.expanduser(folder)) if folder else ""
    path = path or find_backup_folder(context.settings)
    if not path:
        raise Invalid(
            "Backups have no folder yet. Name one: looseleaf backup create FOLDER. Or set it, for "
            "backups every night, too: looseleaf settings set backup_folder FOLDER"
        )
    check_outside(os.path.realpath(context.settings.root), path)
    return path


def check_outside(root: str, folder: str) -> None:
    """Refuse a folder whose content would be a part of the next backup."""
    from looseleaf.features.backup.archive import PIPELINE, WORKSPACE_NAMES

    inner = os.path.relpath(os.path.realpath(folder), root)
    top = os.fsencode(inner.partition("/")[0])
    if top in (b".", *WORKSPACE_NAMES) or top.startswith(PIPELINE):
        raise InvalidArgument("folder", f"{folder} is a part of the workspace itself")


def _describe(backup: ListedBackup, identity: str, now: float) -> BackupInfo:
    description = backup.description
    return BackupInfo(
        name=backup.name,
        path=backup.path,
        created=format_time(description.created),
        age=max(0, int(now - description.created)),
        size=backup.size,
        workspace=description.workspace,
        workspace_name=description.name,
        is_own=bool(identity) and description.workspace == identity,
        is_whole=backup.is_whole,
        database=description.database,
        program=description.program,
    )


def _name_database(settings: Settings, root: str) -> str:
    if settings.database_url:
        return POSTGRESQL
    has_file = os.path.exists(os.path.join(root, ".looseleaf", "looseleaf.db"))
    return SQLITE if has_file else NO_DATABASE


def in_steps(show: Callable[[int, int], None]) -> Callable[[int, int], None]:
    """Show progress only when another twentieth of the whole is done."""
    last_step = -1

    def show_step(bytes_done: int, total: int) -> None:
        nonlocal last_step
        step = bytes_done * _PROGRESS_STEPS // max(total, 1)
        if step > last_step:
            last_step = step
            show(bytes_done, total)

    return show_step


# The system task of every night: a verified backup, and the removal of old ones.


def run_backup(run: TaskRun) -> TaskResult:
    """Write a backup, read it back whole, and only then remove the oldest ones."""
    settings, folder = run.settings, find_backup_folder(run.settings)
    if not folder:
        return TaskResult("skipped", "the setting backup_folder names no folder")
    root = os.path.realpath(settings.root)
    check_outside(root, folder)
    backup = write_backup(settings, folder, run.parts.clock(), is_cancelled=run.is_cancelled)
    with open_archive(backup.path) as reader:
        reader.read_all(lambda _header, _chunks: None)
    removed_names = remove_old_backups(folder, read_identity(root), settings.backup_keep)
    details = {
        "name": backup.name,
        "size": backup.size,
        "files": backup.files,
        "database": backup.database,
        "left_out": list(backup.left_out),
        "removed": removed_names,
    }
    count = len(backup.left_out)
    reason = f"{backup.name} has {backup.files} files and was read back whole"
    reason += f"; {count} could not be copied as they should" if count else ""
    return TaskResult("backed_up", reason, details=details)


BACKUP = SystemTask(
    type="backup",
    label="Backup",
    description="Write a backup of the whole workspace, verify it, and remove the oldest ones.",
    run=run_backup,
    setting="backup_folder",
    trigger="Every night at 02:30",
    supports_run=True,
    per_agent=False,
)
