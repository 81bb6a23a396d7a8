"""What backups register in a workspace: operations, the nightly task and an admin page."""

from __future__ import annotations

from looseleaf.plugins.hooks import hookimpl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.registry import Operations
    from looseleaf.features.workflows.schedules import TaskSchedules
    from looseleaf.features.workflows.system_tasks import SystemTasks
    from looseleaf.plugins.admin_pages import AdminPages
    from looseleaf.plugins.commands import Commands
    from looseleaf.plugins.endpoints import Endpoints


@hookimpl
def register_operations(operations: Operations) -> None:
    """Register the operations of backups."""
    from looseleaf.features.backup import operations as backups

    operations.add_declared(backups)


@hookimpl
def register_system_tasks(tasks: SystemTasks) -> None:
    """Register the task that writes a backup."""
    from looseleaf.features.backup.operations import BACKUP

    tasks.register(BACKUP)


@hookimpl
def register_schedules(schedules: TaskSchedules) -> None:
    """Register the time of the backup."""
    schedules.register("backup", "backup", "30 2 * * *", setting="backup_folder", label="Backup")


@hookimpl
def register_endpoints(endpoints: Endpoints) -> None:
    """Register the endpoints of backups."""
    register = endpoints.register
    register("GET", "/backups", "looseleaf/list-backups")
    register("POST", "/backups", "looseleaf/create-backup", status=201)
    register("POST", "/backups/{name}/verify", "looseleaf/verify-backup")


@hookimpl
def register_admin_pages(pages: AdminPages) -> None:
    """Register the page of backups."""
    from looseleaf.features.backup import views

    pages.register(
        "backups", "backups", views.show_backups, submit=views.create_backup, label="Backups",
        priority=73, group="administration", needs="looseleaf/list-backups",
    )  # fmt: skip


@hookimpl
def register_commands(commands: Commands) -> None:
    """Register the commands of backups."""
    commands.register(
        "backup",
        "looseleaf.features.backup.commands:backup_group",
        "Back up the workspace, and see the backups.",
        priority=44,
    )
    commands.register(
        "restore",
        "looseleaf.features.backup.commands:restore",
        "Restore a backup to a new folder.",
        priority=44,
    )
