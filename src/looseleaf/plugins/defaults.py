"""The built-in plugin: it registers the defaults of every workspace through the public hooks."""

from __future__ import annotations

from looseleaf.memory.registry import OWNER
from looseleaf.plugins.hooks import hookimpl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.catalog.page_checks import Checks
    from looseleaf.catalog.registry import Operations
    from looseleaf.catalog.services import PartOpeners
    from looseleaf.memory.composed import ComposedSections
    from looseleaf.memory.registry import FileRegistry, NamedRegistry
    from looseleaf.memory.store import Store
    from looseleaf.memory.templates import PageStarters
    from looseleaf.plugins.admin_pages import AdminPages
    from looseleaf.plugins.commands import Commands
    from looseleaf.plugins.endpoints import Endpoints
    from looseleaf.prompt.directive import Directives
    from looseleaf.settings import Settings


# The pages that every workspace has.


def register_core_files(
    registry: FileRegistry, *, network: bool = False, agents_md: bool = False
) -> None:
    """Register the pages that every workspace has, as a plugin registers its own."""
    # A table is easier to read than a column.
    # fmt: off
    if network:
        registry.register(
            "NETWORK.md", 5, layer="network", protected=True, composable=True, owner=OWNER,
            label="Network", description="What is true of all workspaces here; generated.",
        )
    if agents_md:
        # It holds the pages that prompts already have, so in a prompt it would double them.
        registry.register(
            "AGENTS.md", 5, protected=True, composable=True, modes=(), owner=OWNER,
            convention_path="AGENTS.md", label="Coding agents",
            description="One agent's memory for coding agents in a project; generated.",
        )
    registry.register(
        "SITE.md", 5, layer="shared", protected=True, composable=True, owner=OWNER,
        label="Site", description="What this workspace is; generated.",
    )
    registry.register(
        "RULES.md", 7, layer="shared", protected=True, editable="manage_options", owner=OWNER,
        label="Rules", description="What every agent here must and must not do.",
    )
    registry.register(
        "SOUL.md", 10, protected=True, editable="admin", word_budget=500, owner=OWNER,
        label="Identity", description="Who the agent is, how it speaks, what rules it follows.",
    )
    registry.register(
        "USER.md", 20, layer="user", protected=True, word_budget=300, owner=OWNER,
        label="User", description="Who the human is: background, preferences, working patterns.",
    )
    registry.register(
        "USER_MEMORY.md", 25, layer="principal", modes=("chat",), protected=True, owner=OWNER,
        word_budget=500, label="What it knows about you",
        description="What this agent has learned about one person, and shows to nobody else.",
    )
    registry.register(
        "MEMORY.md", 30, protected=True, word_budget=2000, owner=OWNER,
        label="Memory", description="What the agent has learned: facts, decisions, lessons.",
    )
    # fmt: on


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
        from looseleaf.prompt.core_directives import register_core_directives

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
        from looseleaf.plugins.commands import register_core_commands
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
