"""What imports and exports of pages register in a workspace: operations, commits, a page."""

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
    """Register the operations that import pages, export them and commit them to git."""
    from looseleaf.features.imports import export_operations
    from looseleaf.features.imports import operations as imports

    operations.add_declared(imports, export_operations)


@hookimpl
def register_system_tasks(tasks: SystemTasks) -> None:
    """Register the task that commits pages to git."""
    from looseleaf.features.imports.export_operations import GIT_COMMIT

    tasks.register(GIT_COMMIT)


@hookimpl
def register_schedules(schedules: TaskSchedules) -> None:
    """Register the time of the commits."""
    schedules.register(
        "git_commit", "git_commit", "hourly", setting="git_commits", label="Commit to git"
    )


@hookimpl
def register_endpoints(endpoints: Endpoints) -> None:
    """Register the endpoints of imports and of commits."""
    from looseleaf.features.bundles.endpoints import receive_archive

    register = endpoints.register
    register("GET", "/import/sources", "looseleaf/list-import-sources")
    register("POST", "/import/detect", "looseleaf/detect-import")
    register("POST", "/import/preview", "looseleaf/preview-import", handler=receive_archive)
    register("POST", "/import", "looseleaf/run-import", handler=receive_archive)
    register("POST", "/backups/commit", "looseleaf/commit-pages")


@hookimpl
def register_admin_pages(pages: AdminPages) -> None:
    """Register the page that imports memory."""
    from looseleaf.features.imports import views

    pages.register(
        "import", "import", views.show_import, submit=views.submit_import, label="Import",
        priority=72, takes_file=True, group="administration", needs="looseleaf/preview-import",
    )  # fmt: skip


@hookimpl
def register_commands(commands: Commands) -> None:
    """Register the commands that import pages, export them and commit them to git."""
    commands.register(
        "import",
        "looseleaf.features.imports.commands:import_memory",
        "Import the memory of another system.",
        priority=24,
    )
    commands.register(
        "memory export",
        "looseleaf.features.imports.commands:export_pages",
        "Write the pages as files to a folder.",
        priority=54,
    )
    commands.register(
        "memory publish",
        "looseleaf.features.imports.commands:publish_memory",
        "Put memory into AGENTS.md or CLAUDE.md.",
        priority=54,
    )
    commands.register(
        "backup commit",
        "looseleaf.features.imports.commands:commit_pages",
        "Commit the pages that changed to git.",
    )
