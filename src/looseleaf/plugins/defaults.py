"""The built-in plugin: it registers the defaults of every workspace through the public hooks."""

from __future__ import annotations

from looseleaf.plugins.core_files import register_core_files
from looseleaf.plugins.hooks import hookimpl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.registry import Operations
    from looseleaf.memory.composed import ComposedSections
    from looseleaf.memory.registry import FileRegistry
    from looseleaf.memory.store import Store
    from looseleaf.memory.templates import PageStarters
    from looseleaf.prompt.directives.directive import Directives
    from looseleaf.settings import Settings
    from looseleaf.upkeep.schedules import TaskSchedules
    from looseleaf.upkeep.system_tasks.task import SystemTasks
    from looseleaf.workflows.step import StepTypes


class Defaults:
    """The plugin `looseleaf`: it registers first, so that other plugins can change its entries."""

    def __init__(self, store: Store) -> None:
        self.store = store

    @hookimpl(tryfirst=True)
    def register_files(self, files: FileRegistry, settings: Settings) -> None:
        """Register the core pages."""
        register_core_files(files, network=settings.network, agents_md=settings.agents_md)

    @hookimpl(tryfirst=True)
    def register_composed_sections(self, sections: ComposedSections) -> None:
        """Register the sections of SITE.md, NETWORK.md and AGENTS.md."""
        from looseleaf.memory.composed import register_core_sections

        register_core_sections(sections)

    @hookimpl(tryfirst=True)
    def register_starters(self, starters: PageStarters) -> None:
        """Register the first content of core pages and daily pages."""
        from looseleaf.memory.templates import register_core_starters

        register_core_starters(starters)

    @hookimpl(tryfirst=True)
    def register_directives(self, directives: Directives) -> None:
        """Register the core directives."""
        from looseleaf.prompt.directives.defaults import register_core_directives

        register_core_directives(directives)

    @hookimpl(tryfirst=True)
    def register_operations(self, operations: Operations) -> None:
        """Register the operations of the catalog."""
        from looseleaf.plugins.core_operations import register_core_operations

        register_core_operations(operations)

    @hookimpl(tryfirst=True)
    def register_steps(self, steps: StepTypes) -> None:
        """Register the core types of packets and of steps."""
        from looseleaf.workflows.packet import register_core_packets
        from looseleaf.workflows.steps.defaults import register_core_steps

        register_core_packets(steps.packets)
        register_core_steps(steps)

    @hookimpl(tryfirst=True)
    def register_system_tasks(self, tasks: SystemTasks) -> None:
        """Register the tasks that keep memory lean, and those that back it up."""
        from looseleaf.job_runtime.backup_task import BACKUP, GIT_COMMIT
        from looseleaf.upkeep.daily_task.task import DAILY_MEMORY
        from looseleaf.upkeep.history_packing import HISTORY_PACKING
        from looseleaf.upkeep.retention.tasks import build_tasks

        tasks.register(DAILY_MEMORY)
        tasks.register(HISTORY_PACKING)
        tasks.register(BACKUP)
        tasks.register(GIT_COMMIT)
        for task in build_tasks():
            tasks.register(task)

    @hookimpl(tryfirst=True)
    def register_schedules(self, schedules: TaskSchedules) -> None:
        """Register the times of the system tasks."""
        from looseleaf.upkeep.retention.tasks import RUN, WHEN

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

        schedules.register(
            "backup", "backup", "30 2 * * *", setting="backup_folder", label="Backup"
        )
        schedules.register(
            "git_commit", "git_commit", "hourly", setting="git_commits", label="Commit to git"
        )

    @hookimpl
    def pick_store(self) -> Store:
        """Choose the store of the workspace."""
        return self.store

    @hookimpl
    def pick_model(self, agent: AgentRecord, mode: str, settings: Settings) -> str | None:
        """Choose the agent's model for the mode or for all modes, then that of the settings."""
        agent_model = agent.configuration.model_for(mode)
        return agent_model or dict(settings.mode_models).get(mode) or settings.default_model or None
