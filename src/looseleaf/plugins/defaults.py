"""Our own plugin: what every workspace has comes through the hooks that anyone uses."""

from __future__ import annotations

from looseleaf.memory.registry import register_core_files
from looseleaf.plugins.hooks import hookimpl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord
    from looseleaf.memory.composed import ComposedSections
    from looseleaf.memory.registry import FileRegistry
    from looseleaf.memory.store import Store
    from looseleaf.memory.templates import PageStarters
    from looseleaf.operations.registry import Operations
    from looseleaf.prompt.directive import Directives
    from looseleaf.settings import Settings


class Defaults:
    """The plugin `looseleaf`: it registers first, so that others can change what it registered."""

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
        """Register what core pages and daily pages start with."""
        from looseleaf.memory.templates import register_core_starters

        register_core_starters(starters)

    @hookimpl(tryfirst=True)
    def register_directives(self, directives: Directives) -> None:
        """Register the core directives."""
        from looseleaf.prompt.defaults import register_core_directives

        register_core_directives(directives)

    @hookimpl(tryfirst=True)
    def register_operations(self, operations: Operations) -> None:
        """Register the operations of the catalog."""
        from looseleaf.operations.run import register_core_operations

        register_core_operations(operations)

    @hookimpl
    def pick_store(self) -> Store:
        """Choose the store of the workspace."""
        return self.store

    @hookimpl
    def pick_model(self, agent: AgentRecord, mode: str, settings: Settings) -> str | None:
        """Choose what the agent's configuration says for the mode or for all, then the setting."""
        models = agent.config.get("models", {})
        own = models.get(mode) or models.get("default")
        return own or dict(settings.mode_models).get(mode) or settings.default_model or None
