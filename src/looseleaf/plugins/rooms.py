"""What plugins fill when someone first asks for it, so that a plain read waits for none of it.

Only the workspace opens these rooms, as it alone calls hooks.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from looseleaf.memory.composed import ComposedSections
    from looseleaf.memory.history import History
    from looseleaf.memory.pages import Changed, MemoryPages
    from looseleaf.memory.templates import PageStarters
    from looseleaf.operations.context import Context
    from looseleaf.operations.generated import GeneratedPages
    from looseleaf.operations.registry import Operations
    from looseleaf.plugins.hooks import Hooks, Plugin
    from looseleaf.prompt.chain import Chain
    from looseleaf.upkeep.schedules import Schedules
else:
    Protocol = object


class OpenWorkspace(Protocol):
    """What the rooms need of their workspace; its context is there once it is open."""

    pages: MemoryPages
    history: History
    context: Context


class Rooms:
    """The registries of one workspace, each made and filled once."""

    def __init__(
        self,
        hooks: Hooks,
        workspace: OpenWorkspace,
        *,
        clock: Callable[[], float],
        report: Callable[[str, Exception], None],
    ) -> None:
        self.hooks, self.workspace = hooks, workspace
        self.pages, self.history = workspace.pages, workspace.history
        self.clock, self.report = clock, report
        self._generated: GeneratedPages | None = None
        # Without such a page, a write to an agent's pages need not import what makes one.
        self._composes_for_agents = any(
            file.composable and file.layer == "agent" for file in self.pages.registry.files()
        )
        self._composed: ComposedSections | None = None
        self._starters: PageStarters | None = None
        self._chain: Chain | None = None
        self._operations: Operations | None = None
        self._schedules: Schedules | None = None

    def composed(self) -> ComposedSections:
        """Give the sections of generated pages."""
        if self._composed is None:
            from looseleaf.memory.composed import ComposedSections

            empty = ComposedSections()
            self._composed = self.hooks.fill("register_composed_sections", sections=empty)
        return self._composed

    def starters(self) -> PageStarters:
        """Give what new pages start with."""
        if self._starters is None:
            from looseleaf.memory.templates import PageStarters

            self._starters = self.hooks.fill("register_starters", starters=PageStarters())
        return self._starters

    def chain(self) -> Chain:
        """Give the chain of directives."""
        if self._chain is None:
            from looseleaf.prompt.opening import open_chain
            from looseleaf.prompt.sources import PresentSources

            chain = open_chain(
                self.hooks.settings,
                self.pages.registry,
                PresentSources(self.pages, lambda _scope: self.history),
                fill=self.hooks.fill,
                clock=self.clock,
            )
            for told in self.hooks.guarded("on_prompt_composed", "assembly", self.report):
                chain.on_compose(told)
            self._chain = chain
        return self._chain

    def generated(self) -> GeneratedPages:
        """Give the generated pages, which follow what they are made from."""
        if self._generated is None:
            from looseleaf.operations.generated import GeneratedPages

            self._generated = GeneratedPages(self.workspace.context)
        return self._generated

    def follow_page(self, event: Changed) -> None:
        """Have the generated pages follow a change of another page."""
        if event.scope.layer in ("shared", "network") or self._composes_for_agents:
            self.generated().follow_page(event)

    def operations(self) -> Operations:
        """Give everything one can do."""
        if self._operations is None:
            from looseleaf.operations.registry import Operations

            self._operations = self.hooks.fill("register_operations", operations=Operations())
        return self._operations

    def schedules(self) -> Schedules:
        """Give what is to be run when."""
        if self._schedules is None:
            from looseleaf.upkeep.schedules import Schedules

            empty = Schedules(self.operations())
            self._schedules = self.hooks.fill("register_schedules", schedules=empty)
        return self._schedules

    def plugins(self) -> tuple[Plugin, ...]:
        """List the plugins, ours first, each with what it registered."""
        from looseleaf.plugins.listing import described

        pages = (self.pages.registry, self.composed(), self.starters())
        return described(
            self.hooks.plugins, pages, self.chain(), self.operations(), self.schedules()
        )
