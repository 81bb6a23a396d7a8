"""The specifications of the core's hooks; docs/hooks.md says when each is called, with an example.

`register_*` fills a registry, `pick_*` makes a choice, `on_*` is called after an event. An
implementation may leave out the arguments that it does not need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.catalog.page_checks import Checks
    from looseleaf.catalog.plugin_settings import PluginSettings
    from looseleaf.catalog.registry import Operations
    from looseleaf.catalog.services import PartOpeners
    from looseleaf.memory.composed import ComposedSections
    from looseleaf.memory.pages import Changed
    from looseleaf.memory.registry import FileRegistry
    from looseleaf.memory.scope import Shelf
    from looseleaf.memory.store import Store
    from looseleaf.memory.templates import PageStarters
    from looseleaf.plugins.admin_pages import AdminPages
    from looseleaf.plugins.commands import Commands
    from looseleaf.plugins.endpoints import Endpoints
    from looseleaf.prompt.assembly import Assembly
    from looseleaf.prompt.directive import Directives, Filters
    from looseleaf.settings import Settings

hookspec = pluggy.HookspecMarker("looseleaf")


@hookspec
def register_settings(plugin_settings: PluginSettings, settings: Settings) -> None:
    """Add settings, each by its name, its default and a summary."""


@hookspec
def register_files(files: FileRegistry, settings: Settings) -> None:
    """Register pages by name, or remove some."""


@hookspec
def register_composed_sections(sections: ComposedSections, settings: Settings) -> None:
    """Add sections to generated pages, or remove some."""


@hookspec
def register_starters(starters: PageStarters, settings: Settings) -> None:
    """Define the first content of new pages."""


@hookspec
def register_directives(directives: Directives, settings: Settings) -> None:
    """Add directives to every prompt, or remove some."""


@hookspec
def register_content_filters(filters: Filters, settings: Settings) -> None:
    """Add functions that change the text of a page on its way into a prompt."""


@hookspec
def register_file_filters(filters: Filters, settings: Settings) -> None:
    """Add functions that leave registered pages out of a prompt."""


@hookspec
def register_scoped_file_filters(filters: Filters, settings: Settings) -> None:
    """Add functions that leave pages of a journal, pipeline or flow out of a prompt."""


@hookspec
def register_site_context(filters: Filters, settings: Settings) -> None:
    """Add functions that change the site context of a prompt."""


@hookspec
def register_operations(operations: Operations, settings: Settings) -> None:
    """Add operations, which every surface then offers, or remove some."""


@hookspec
def register_parts(parts: PartOpeners, settings: Settings) -> None:
    """Add parts to the workspace, each opened when it is first used."""


@hookspec
def register_admin_pages(pages: AdminPages, settings: Settings) -> None:
    """Add pages to the admin site, or take some out."""


@hookspec
def register_commands(commands: Commands, settings: Settings) -> None:
    """Add commands to the command line, each by the name of its module."""


@hookspec
def register_endpoints(endpoints: Endpoints, settings: Settings) -> None:
    """Add addresses to the REST API, or take some out."""


@hookspec
def register_checks(checks: Checks, settings: Settings) -> None:
    """Add checks to the doctor, or take some out."""


@hookspec(firstresult=True)
def pick_store(shelf: Shelf, settings: Settings) -> Store | None:
    """Choose the store for the pages of a shelf, or None to leave the choice to others."""


@hookspec(firstresult=True)
def pick_model(agent: AgentRecord, mode: str, settings: Settings) -> str | None:
    """Choose the model of an agent in a mode, or None to leave the choice to others."""


@hookspec
def on_memory_changed(event: Changed, settings: Settings) -> None:
    """React to a change of a page, once the change is durable."""


@hookspec
def on_prompt_composed(assembly: Assembly, settings: Settings) -> None:
    """React to a prompt that was composed."""


@hookspec
def on_server_started(context: Context, settings: Settings) -> None:
    """Start work that goes on beside the server, once the server has begun to answer."""
