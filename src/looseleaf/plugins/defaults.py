"""The built-in plugin: it registers the defaults of every workspace through the public hooks."""

from __future__ import annotations

from looseleaf.plugins.core_files import register_core_files
from looseleaf.plugins.hooks import hookimpl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.catalog.parts import PartOpeners
    from looseleaf.catalog.registry import Operations
    from looseleaf.memory.composed import ComposedSections
    from looseleaf.memory.named_registry import NamedRegistry
    from looseleaf.memory.registry import FileRegistry
    from looseleaf.memory.store import Store
    from looseleaf.memory.templates import PageStarters
    from looseleaf.plugins.admin_pages import AdminPages
    from looseleaf.plugins.commands import Commands
    from looseleaf.plugins.endpoints import Endpoints
    from looseleaf.prompt.directives.directive import Directives
    from looseleaf.settings import Settings
    from looseleaf.upkeep.finding import Checks


class Defaults:
    """The plugin `looseleaf`: it registers first, so that other plugins can change its entries."""

    def __init__(self, store: Store | None = None) -> None:
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
        """Register the operations of the core and of the features."""
        from looseleaf.plugins.core_operations import register_core_operations
        from looseleaf.plugins.features import call_features

        register_core_operations(operations)
        call_features("register_operations", operations=operations)

    @hookimpl(tryfirst=True)
    def register_parts(self, parts: PartOpeners) -> None:
        """Register the parts of features."""
        from looseleaf.plugins.features import call_features

        call_features("register_parts", parts=parts)

    @hookimpl(tryfirst=True)
    def register_steps(self, steps: NamedRegistry) -> None:
        """Register the types of packets and of steps that features have."""
        from looseleaf.plugins.features import call_features

        call_features("register_steps", steps=steps)

    @hookimpl(tryfirst=True)
    def register_system_tasks(self, tasks: NamedRegistry) -> None:
        """Register the system tasks of features."""
        from looseleaf.plugins.features import call_features

        call_features("register_system_tasks", tasks=tasks)

    @hookimpl(tryfirst=True)
    def register_schedules(self, schedules: NamedRegistry) -> None:
        """Register the times of the system tasks."""
        from looseleaf.plugins.features import call_features

        call_features("register_schedules", schedules=schedules)

    @hookimpl(tryfirst=True)
    def register_admin_pages(self, pages: AdminPages) -> None:
        """Register the admin pages of features."""
        from looseleaf.plugins.features import call_features

        call_features("register_admin_pages", pages=pages)

    @hookimpl(tryfirst=True)
    def register_commands(self, commands: Commands) -> None:
        """Register the commands of the core and of the features."""
        from looseleaf.plugins.core_commands import register_core_commands
        from looseleaf.plugins.features import call_features

        register_core_commands(commands)
        call_features("register_commands", commands=commands)

    @hookimpl(tryfirst=True)
    def register_endpoints(self, endpoints: Endpoints) -> None:
        """Register the endpoints of features."""
        from looseleaf.plugins.features import call_features

        call_features("register_endpoints", endpoints=endpoints)

    @hookimpl(tryfirst=True)
    def register_checks(self, checks: Checks) -> None:
        """Register the checks of the core and of the features."""
        from looseleaf.operations.doctor import register_core_checks
        from looseleaf.plugins.features import call_features

        register_core_checks(checks)
        call_features("register_checks", checks=checks)

    @hookimpl
    def pick_store(self) -> Store | None:
        """Choose the store of the workspace."""
        return self.store

    @hookimpl
    def pick_model(self, agent: AgentRecord, mode: str, settings: Settings) -> str | None:
        """Choose the agent's model for the mode or for all modes, then that of the settings."""
        agent_model = agent.configuration.model_for(mode)
        return agent_model or dict(settings.mode_models).get(mode) or settings.default_model or None

    @hookimpl(tryfirst=True)
    def on_server_started(self, context: Context) -> None:
        """Start what features run beside the server."""
        from looseleaf.plugins.features import call_features

        call_features("on_server_started", context=context)
