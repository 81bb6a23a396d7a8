"""Every hook there is; docs/hooks.md says when each is called, with an example.

`register_*` fills a registry, `pick_*` answers a question, `on_*` is told afterwards. Whoever
implements a hook may leave out the arguments it does not need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord
    from looseleaf.memory.composed import ComposedSections
    from looseleaf.memory.pages import Changed
    from looseleaf.memory.registry import FileRegistry
    from looseleaf.memory.scope import Shelf
    from looseleaf.memory.store import Store
    from looseleaf.memory.templates import PageStarters
    from looseleaf.operations.registry import Operations
    from looseleaf.prompt.assembly import Assembly
    from looseleaf.prompt.directive import Directives
    from looseleaf.prompt.filters import Filters
    from looseleaf.settings import Settings
    from looseleaf.upkeep.schedules import Schedules

hookspec = pluggy.HookspecMarker("looseleaf")


@hookspec
def register_files(files: FileRegistry, settings: Settings) -> None:
    """Register pages by name, or take some out."""


@hookspec
def register_composed_sections(sections: ComposedSections, settings: Settings) -> None:
    """Add sections to generated pages, or take some out."""


@hookspec
def register_starters(starters: PageStarters, settings: Settings) -> None:
    """Say what new pages start with."""


@hookspec
def register_directives(directives: Directives, settings: Settings) -> None:
    """Add voices to every prompt, or take some out."""


@hookspec
def register_content_filters(filters: Filters, settings: Settings) -> None:
    """Add functions that change the text of a page on its way into a prompt."""


@hookspec
def register_file_filters(filters: Filters, settings: Settings) -> None:
    """Add functions that take registered pages out of a prompt."""


@hookspec
def register_scoped_file_filters(filters: Filters, settings: Settings) -> None:
    """Add functions that take pages asked for by name (journal, pipeline, flow) out of a prompt."""


@hookspec
def register_site_context(filters: Filters, settings: Settings) -> None:
    """Add functions that change what a prompt says of the site."""


@hookspec
def register_operations(operations: Operations, settings: Settings) -> None:
    """Add operations, which every surface then offers, or take some out."""


@hookspec
def register_schedules(schedules: Schedules, settings: Settings) -> None:
    """Say which operations are to be run when."""


@hookspec(firstresult=True)
def pick_store(shelf: Shelf, settings: Settings) -> Store | None:
    """Give the store in which the pages of a shelf lie, or None to leave it to others."""


@hookspec(firstresult=True)
def pick_model(agent: AgentRecord, mode: str, settings: Settings) -> str | None:
    """Name the model that answers for an agent in a mode, or None to leave it to others."""


@hookspec
def on_memory_changed(event: Changed, settings: Settings) -> None:
    """Be told of a page that was changed, once the change is durable."""


@hookspec
def on_prompt_composed(assembly: Assembly, settings: Settings) -> None:
    """Be told of a prompt that was put together."""
