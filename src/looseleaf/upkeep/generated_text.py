"""The text of a generated page, made from settings, agents and other pages."""

from __future__ import annotations

import os
import shlex

from looseleaf.errors.agents import AgentAmbiguous, AgentMissing
from looseleaf.memory.composed import ComposeContext, ListItem
from looseleaf.memory.pages import decode_text
from looseleaf.memory.policy import decide
from looseleaf.memory.scope import Shelf
from looseleaf.memory.store import Found, has_paths
from looseleaf.times import format_date
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from looseleaf.agents.agent_list import AgentList
    from looseleaf.agents.record import AgentRecord
    from looseleaf.memory.composed import ComposedSections
    from looseleaf.memory.pages import MemoryPages
    from looseleaf.memory.registry import RegisteredFile
    from looseleaf.memory.scope import Layer, Scope
    from looseleaf.settings import Settings

    # Finds the page of a filename, for an agent by its id, on a layer; None is the page's own.
    FindPage = Callable[[str, int | None, Layer | None], Scope]


@value
class TextSources:
    """The sources of generated pages, and the function that finds a page of an agent."""

    settings: Settings
    agents: AgentList
    pages: MemoryPages
    sections: Callable[[], ComposedSections]
    clock: Callable[[], float]
    find_page: FindPage


def find_page_agent(
    file: RegisteredFile, find: Callable[[], AgentRecord], *, is_named: bool = False
) -> AgentRecord | None:
    """Find the agent that a generated page is about, or None if it is about the workspace."""
    try:
        return find()
    except (AgentAmbiguous, AgentMissing):
        if file.convention_path or is_named:
            raise
        return None


def generate_text(sources: TextSources, file: RegisteredFile, agent: AgentRecord | None) -> str:
    """Generate the text of a page as it should be now, or "" if every section is empty."""
    settings = sources.settings
    folder = project_folder_of(settings, file) if file.convention_path else settings.root
    return sources.sections().generate(file.filename, build_context(sources, agent, folder))


def project_folder_of(settings: Settings, file: RegisteredFile) -> str:
    """Return the folder that the paths on a generated page start from."""
    folder = settings.project_folder if file.convention_path else "."
    return os.path.realpath(os.path.join(settings.root, folder))


def build_context(sources: TextSources, agent: AgentRecord | None, folder: str) -> ComposeContext:
    """Build the context of generated sections; their paths start from a folder."""

    def find_scope(filename: str) -> Scope | None:
        # A generated page can be part of a prompt, so the agent's policy holds here, too.
        if agent is None or not decide(filename, policy=agent.configuration.memory_policy).allowed:
            return None
        return sources.find_page(filename, agent.id, None)

    def read_page(filename: str) -> str | None:
        page_scope = find_scope(filename)
        page = sources.pages.read(page_scope) if page_scope is not None else None
        return decode_text(filename, page.content) if isinstance(page, Found) else None

    def find_path(filename: str) -> str | None:
        page_scope = find_scope(filename)
        if page_scope is None or not sources.pages.exists(page_scope):
            return None
        store = sources.pages.store_for(page_scope)
        return (
            os.path.relpath(store.path(page_scope), os.path.realpath(folder))
            if has_paths(store)
            else None
        )

    def list_pages(layer: Layer) -> Sequence[ListItem]:
        registry = sources.pages.registry
        return [
            ListItem(
                entry.filename, file.description if (file := registry.get(entry.filename)) else ""
            )
            for entry in sources.pages.list(Shelf(layer))
        ]

    settings = sources.settings
    return ComposeContext(
        agent_slug=agent.slug if agent else "",
        agent_name=agent.name if agent else "",
        workspace_name=settings.name,
        workspace_url=settings.url,
        language=settings.language,
        timezone=settings.timezone,
        date=format_date(sources.clock()),
        command=_format_command(settings, folder),
        workspaces=(ListItem(settings.display_name, settings.url),),
        include="imports" if settings.agents_md_include == "imports" else "inline",
        agents=tuple(ListItem(record.slug, record.name) for record in sources.agents.records()),
        pages=list_pages,
        read=read_page,
        path=find_path,
    )


def _format_command(settings: Settings, folder: str) -> str:
    """Format the command as it must be typed in the folder of the generated page."""
    root = settings.root if settings.root == folder else os.path.realpath(settings.root)
    if root == folder or os.path.commonpath([root, folder]) == root:
        return "looseleaf"
    return f"looseleaf --root {shlex.quote(os.path.relpath(root, folder))}"
