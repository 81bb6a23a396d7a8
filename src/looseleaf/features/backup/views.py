"""Backups: the list with the age of each, creating one now, and verifying one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.plugins.admin_pages import Document, Redirect
from looseleaf.times import DAY_SECONDS
from looseleaf.web.admin.templating import format_age

if TYPE_CHECKING:
    from looseleaf.features.backup.operations import BackupInfo, NewBackup
    from looseleaf.operations.settings import SettingInfo
    from looseleaf.plugins.admin_pages import Visit

ADDRESS = "/admin/backups"
SETTING = "backup_folder"
OLD_SECONDS = 2 * DAY_SECONDS
MOST = 100
DATABASES = {"sqlite": "SQLite", "postgresql": "PostgreSQL", "none": "none"}


def show_backups(visit: Visit) -> Document | Redirect:
    """List the backups, newest first, and verify the one that the query names."""
    settings: list[SettingInfo] = visit.run("looseleaf/list-settings")
    folder = next(info.setting for info in settings if info.name == SETTING)
    backups: list[BackupInfo] = visit.run("looseleaf/list-backups") if folder else []
    own_backups = [backup for backup in backups if backup.is_own and backup.is_whole]
    name = visit.query.get("verify") if folder else ""
    data = {
        "folder": folder,
        "backups": visit.cut(backups, MOST, name="backups"),
        "newest": own_backups[0] if own_backups else None,
        "is_old": not own_backups or own_backups[0].age > OLD_SECONDS,
        "verdict": visit.run("looseleaf/verify-backup", name=name) if name else None,
        "databases": DATABASES,
        "format_age": format_age,
    }
    return Document("backup/backups.html", "Backups", data)


def create_backup(visit: Visit) -> Document | Redirect:
    """Create a backup now."""
    backup: NewBackup = visit.run("looseleaf/create-backup")
    count = len(backup.left_out)
    missing = f" {count} could not be copied as they should." if count else ""
    return Redirect(ADDRESS, f"Wrote {backup.name}: {backup.files} files.{missing}")
