"""What upkeep registers in a workspace: operations, system tasks, their times and admin pages."""

from __future__ import annotations

from looseleaf.plugins.hooks import hookimpl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.page_checks import Checks
    from looseleaf.catalog.registry import Operations
    from looseleaf.features.workflows.schedules import TaskSchedules
    from looseleaf.features.workflows.system_tasks import SystemTasks
    from looseleaf.plugins.admin_pages import AdminPages
    from looseleaf.plugins.commands import Commands
    from looseleaf.plugins.endpoints import Endpoints


@hookimpl
def register_operations(operations: Operations) -> None:
    """Register the operations of system tasks, lint and retention."""
    from looseleaf.features.upkeep import operations as upkeep
    from looseleaf.features.workflows.operations import system_tasks

    operations.add_declared(system_tasks, upkeep)


@hookimpl
def register_system_tasks(tasks: SystemTasks) -> None:
    """Register the tasks that keep memory lean."""
    from looseleaf.features.upkeep.daily_task.task import DAILY_MEMORY
    from looseleaf.features.upkeep.retention import HISTORY_PACKING, build_tasks

    for task in (DAILY_MEMORY, HISTORY_PACKING, *build_tasks()):
        tasks.register(task)


@hookimpl
def register_schedules(schedules: TaskSchedules) -> None:
    """Register the times of these tasks."""
    from looseleaf.features.upkeep.retention import RUN, WHEN

    # The journal's days are UTC; the run belongs to the day that has just closed.
    schedules.register(
        "daily_memory_generation",
        "daily_memory_generation",
        "0 0 * * *",
        zone="UTC",
        per_agent=True,
        setting="daily_memory_enabled",
        label="Daily memory",
    )
    schedules.register(
        "history_packing",
        "history_packing",
        "40 3 * * *",
        zone="UTC",
        setting="history_packing_enabled",
        label="History packing",
    )
    # One job runs all tasks of retention, so that seven do not fill the list of every night.
    schedules.register("retention", RUN, WHEN, zone="UTC", label="Retention")


@hookimpl
def register_endpoints(endpoints: Endpoints) -> None:
    """Register the endpoints of system tasks, lint, upkeep and retention."""
    register = endpoints.register
    register("GET", "/system/status", "looseleaf/show-system-status")
    register("GET", "/system/tasks", "looseleaf/list-system-tasks")
    register("GET", "/system/tasks/runs", "looseleaf/list-task-runs")
    register("GET", "/system/tasks/prompts", "looseleaf/list-task-prompts")
    register("GET", "/system/tasks/prompts/{task_type}/{prompt_key}", "looseleaf/show-task-prompt")
    register("PUT", "/system/tasks/prompts/{task_type}/{prompt_key}", "looseleaf/set-task-prompt")
    register(
        "DELETE", "/system/tasks/prompts/{task_type}/{prompt_key}", "looseleaf/reset-task-prompt"
    )
    register("POST", "/system/tasks/{task_type}/run", "datamachine/run-task")
    register("GET", "/lint", "looseleaf/lint-memory")
    register("POST", "/lint/fix", "looseleaf/fix-memory")
    register("POST", "/upkeep/preview", "looseleaf/preview-upkeep")
    register("GET", "/upkeep/run", "looseleaf/show-upkeep-run")
    register("POST", "/upkeep/undo", "looseleaf/undo-upkeep")
    register("GET", "/retention", "looseleaf/show-retention")
    register("POST", "/retention/preview", "looseleaf/preview-retention")
    register("POST", "/retention/run", "looseleaf/run-retention")


@hookimpl
def register_admin_pages(pages: AdminPages) -> None:
    """Register the pages of upkeep, retention and lint."""
    from looseleaf.features.upkeep import views
    from looseleaf.plugins.admin_pages import AGENT

    pages.register(
        "upkeep", "upkeep", views.show_overview, submit=views.change_upkeep, label="Upkeep",
        priority=68, group="administration", needs="looseleaf/list-task-runs",
    )  # fmt: skip
    pages.register(
        "upkeep-prompts", "upkeep/prompts", views.show_prompts, submit=views.change_prompt,
        parent="upkeep",
    )  # fmt: skip
    pages.register(
        "retention", "retention", views.show_retention, submit=views.remove_data,
        parent="upkeep",
    )  # fmt: skip
    pages.register(
        "agent-upkeep", "agents/{agent}/upkeep", views.show_runs, submit=views.change_runs,
        label="Upkeep", section=AGENT, priority=50, group="work", needs="looseleaf/list-task-runs",
    )  # fmt: skip
    pages.register(
        "lint", "agents/{agent}/lint", views.show_findings, submit=views.apply_fix,
        label="Problems", section=AGENT, priority=55, group="memory",
    )  # fmt: skip


@hookimpl
def register_commands(commands: Commands) -> None:
    """Register the commands of upkeep, retention, system tasks and lint."""
    commands.register(
        "upkeep",
        "looseleaf.features.upkeep.commands:upkeep_group",
        "Keep MEMORY.md lean, without losing a line.",
        priority=35,
    )
    commands.register(
        "retention",
        "looseleaf.features.upkeep.commands:retention_group",
        "How long data is kept; removing older data.",
        priority=35,
    )
    commands.register(
        "system",
        "looseleaf.features.upkeep.commands:system_group",
        "The system tasks, which run by themselves.",
        priority=35,
    )
    commands.register(
        "memory lint",
        "looseleaf.features.upkeep.commands:lint_memory",
        "Find problems in pages, and mend them.",
    )


@hookimpl
def register_checks(checks: Checks) -> None:
    """Register the check of system tasks and of upkeep runs."""
    from looseleaf.features.upkeep.checks import check_upkeep

    checks.register("upkeep", check_upkeep)
