"""The system task of every night: a verified backup, and the removal of old ones."""

from __future__ import annotations

import os

from looseleaf.bundles.backup.archive_reader import open_archive
from looseleaf.bundles.backup.backup_list import remove_old_backups
from looseleaf.files.root_folder import read_identity
from looseleaf.operations.backups import check_outside, find_backup_folder, write_backup
from looseleaf.upkeep.system_tasks.task import SystemTask, TaskResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.upkeep.system_tasks.task import TaskRun


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
