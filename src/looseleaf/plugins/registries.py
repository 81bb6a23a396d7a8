"""The registries that plugins fill, each built on first use, so that a plain read builds none.

Only the workspace uses these registries, since it alone calls hooks.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Protocol

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.generated_pages import GeneratedPages
    from looseleaf.catalog.registry import Operations
    from looseleaf.catalog.services import PartOpeners
    from looseleaf.memory.composed import ComposedSections
    from looseleaf.memory.history import History
    from looseleaf.memory.pages import Changed, MemoryPages
    from looseleaf.memory.policy import PolicyDecision
    from looseleaf.memory.templates import PageStarters
    from looseleaf.plugins.admin_pages import AdminPages
    from looseleaf.plugins.hooks import Hooks, Plugin
    from looseleaf.prompt.chain import Chain
    from looseleaf.prompt.request import Request, Tool
else:
    Protocol = object


def _decide_tools(request: Request) -> Iterable[tuple[Tool, PolicyDecision]]:
    """Decide about the tools that a request brings; few requests bring any."""
    from looseleaf.catalog.tool_access import decide_request_tools

    return decide_request_tools(request)


class OpenWorkspace(Protocol):
    """The parts of a workspace that the registries need; the context exists once it is open."""

    pages: MemoryPages
    context: Context

    @property
    def history(self) -> History:
        """The history of every page."""


class Registries:
    """The registries of one workspace, each built and filled once."""

    def __init__(
        self,
        hooks: Hooks,
        workspace: OpenWorkspace,
        *,
        clock: Callable[[], float],
        report: Callable[[str, Exception], None],
    ) -> None:
        self.hooks, self.workspace = hooks, workspace
        self.pages = workspace.pages
        self.clock, self.report = clock, report
        self._generated_pages: GeneratedPages | None = None
        # Without such a page, a write to an agent's pages need not import the composer.
        self._composes_for_agents = any(
            file.composable and file.layer == "agent" for file in self.pages.registry.files()
        )
        self._composed_sections: ComposedSections | None = None
        self._starters: PageStarters | None = None
        self._chain: Chain | None = None
        self._operations: Operations | None = None

    def composed_sections(self) -> ComposedSections:
        """Return the sections of generated pages."""
        if self._composed_sections is None:
            from looseleaf.memory.composed import ComposedSections

            empty = ComposedSections()
            self._composed_sections = self.hooks.fill("register_composed_sections", sections=empty)
        return self._composed_sections

    def starters(self) -> PageStarters:
        """Return the first content of new pages."""
        if self._starters is None:
            from looseleaf.memory.templates import PageStarters

            self._starters = self.hooks.fill("register_starters", starters=PageStarters())
        return self._starters

    def chain(self) -> Chain:
        """Return the chain of directives."""
        if self._chain is None:
            from looseleaf.prompt.chain import open_chain
            from looseleaf.prompt.directive import PresentSources

            chain = open_chain(
                self.hooks.settings,
                self.pages.registry,
                PresentSources(self.pages, lambda _scope: self.workspace.history),
                fill=self.hooks.fill,
                decide_tools=_decide_tools,
                clock=self.clock,
            )
            for listener in self.hooks.guarded_listeners(
                "on_prompt_composed", "assembly", self.report
            ):
                chain.on_compose(listener)
            self._chain = chain
        return self._chain

    def generated_pages(self) -> GeneratedPages:
        """Return the generated pages, which follow changes of their sources."""
        if self._generated_pages is None:
            from looseleaf.catalog.generated_pages import GeneratedPages
            from looseleaf.catalog.resolution import sources_of

            context = self.workspace.context
            self._generated_pages = GeneratedPages(
                sources_of(context), surface=context.surface, report=self.report
            )
        return self._generated_pages

    def follow_page(self, event: Changed) -> None:
        """Update the generated pages after a change of another page."""
        if event.scope.layer in ("shared", "network") or self._composes_for_agents:
            self.generated_pages().follow_page(event)

    def check_config(self, config: Mapping[str, Any]) -> None:
        """Refuse keys of an agent's configuration that name what the workspace does not have."""
        from looseleaf.agents.config import AgentConfig

        typed_config = AgentConfig("", config)
        if typed_config.has_tool_policy:
            from looseleaf.catalog.tool_access import check_tool_names

            check_tool_names(self.operations(), typed_config.tool_policy)

    def operations(self) -> Operations:
        """Return all operations."""
        if self._operations is None:
            from looseleaf.catalog.registry import Operations

            self._operations = self.hooks.fill("register_operations", operations=Operations())
        return self._operations

    def part_openers(self) -> PartOpeners:
        """Return the functions that open the parts of features and plugins."""
        from looseleaf.catalog.services import PartOpeners

        return self.hooks.registry_for("register_parts", parts=PartOpeners)

    def announce_server(self) -> None:
        """Tell features and plugins that a server has begun to answer for this workspace."""
        context = self.workspace.context
        for listener in self.hooks.guarded_listeners("on_server_started", "context", self.report):
            listener(context)

    def fill_admin_pages(self, pages: AdminPages) -> AdminPages:
        """Have plugins add to the pages of the admin site, or take some out."""
        return self.hooks.fill("register_admin_pages", pages=pages)

    def plugins(self) -> tuple[Plugin, ...]:
        """List the plugins, the built-in one first, each with its entries."""
        from looseleaf.catalog.plugin_settings import plugin_settings_of
        from looseleaf.plugins.features import list_feature_entries
        from looseleaf.plugins.loader import list_plugins

        pages = (self.pages.registry, self.composed_sections(), self.starters())
        parts = self.workspace.context.parts
        entries = list_feature_entries(parts)
        entries["settings"] = [
            (entry.owner, entry.name) for entry in plugin_settings_of(parts).all()
        ]
        return list_plugins(self.hooks.plugins, pages, self.chain(), self.operations(), entries)
