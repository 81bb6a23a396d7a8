"""A plugin that uses every hook: a newspaper's house style for all its agents."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from typing import Any

from looseleaf import FileRegistry, Settings, Shelf, Store, hookimpl
from looseleaf.agents.record import AgentRecord
from looseleaf.memory.composed import ComposeContext, ComposedSections
from looseleaf.memory.pages import Changed
from looseleaf.memory.registry import RegisteredFile
from looseleaf.memory.templates import PageStarters, TemplateContext
from looseleaf.operations.context import HERE, Context, Where, scope_of
from looseleaf.operations.registry import Operations
from looseleaf.prompt.assembly import Assembly
from looseleaf.prompt.desk import About, Desk
from looseleaf.prompt.directive import Directives
from looseleaf.prompt.filters import Filters
from looseleaf.prompt.outputs import Text
from looseleaf.prompt.request import Request
from looseleaf.stores.disk import DiskStore
from looseleaf.upkeep.schedules import Schedules

PAGE = "style-guide.md"
HEARD: list[str] = []
"""What the listeners were told, for whoever wants to know."""


@hookimpl
def register_files(files: FileRegistry) -> None:
    """Give every prompt the style guide, after the rules."""
    files.register(PAGE, 8, layer="shared", description="How we write.")


@hookimpl
def register_composed_sections(sections: ComposedSections) -> None:
    """Say in SITE.md where the style guide is."""
    sections.register("SITE.md", "style", 15, _style)


def _style(context: ComposeContext) -> str:
    return f"## Style\n\n{context.workspace_name or 'This house'} writes by {PAGE}."


@hookimpl
def register_starters(starters: PageStarters) -> None:
    """Start the style guide."""
    starters.register("style-guide", 40, _start)


def _start(filename: str, context: TemplateContext) -> str | None:
    return f"# How {context.workspace_name} writes\n" if filename == PAGE else None


@hookimpl
def register_directives(directives: Directives) -> None:
    """Remind the model at the end of every chat."""
    directives.register("deadline", 90, _deadline, modes=["chat"], varies="content")


def _deadline(desk: Desk) -> Iterable[Text]:
    yield Text(f"{desk.agent.slug}, the deadline is at five.")


@hookimpl
def register_content_filters(filters: Filters) -> None:
    """Keep telephone numbers out of prompts."""
    filters.register("numbers", 50, _without_numbers)


def _without_numbers(text: str, about: About) -> str:
    return text.replace("555-0100", "…") if about.mode == "chat" else text


@hookimpl
def register_file_filters(filters: Filters) -> None:
    """Keep the generated page out of the mode `letters`."""
    filters.register("letters", 50, _for_letters)


def _for_letters(files: tuple[RegisteredFile, ...], request: Request) -> tuple[RegisteredFile, ...]:
    return tuple(one for one in files if request.mode != "letters" or one.filename != "SITE.md")


@hookimpl
def register_scoped_file_filters(filters: Filters) -> None:
    """Keep drafts out of every pipeline."""
    filters.register("drafts", 50, _without_drafts)


def _without_drafts(names: tuple[str, ...], _request: Request) -> tuple[str, ...]:
    return tuple(name for name in names if not name.startswith("drafts/"))


@hookimpl
def register_site_context(filters: Filters) -> None:
    """Say which edition is being made."""
    filters.register("edition", 50, _edition)


def _edition(site: dict[str, Any], _request: Request) -> dict[str, Any]:
    return {**site, "edition": "evening"}


@hookimpl
def register_operations(operations: Operations) -> None:
    """Let every surface count the words of a page."""
    operations.register("example/count-words", count_words, permission="read", read_only=True)


def count_words(context: Context, file: str, *, where: Where = HERE) -> int:
    """Count the words of a page."""
    return len(context.pages.text(scope_of(context, file, where)).split())


@hookimpl
def register_schedules(schedules: Schedules) -> None:
    """Count the style guide every night."""
    schedules.register("count-style", "example/count-words", "30 3 * * *", arguments={"file": PAGE})


@cache
def vault(root: str) -> DiskStore:
    """Open the store for what is confidential, once for each workspace."""
    folder = os.path.join(root, "vault")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return DiskStore(folder, agent_folder=str)


@hookimpl
def pick_store(shelf: Shelf, settings: Settings) -> Store | None:
    """Keep what is known of users in a vault."""
    return vault(settings.root) if shelf.layer == "user" else None


@hookimpl
def pick_model(agent: AgentRecord, mode: str) -> str | None:
    """Let the editor chat with a model of its own."""
    return "acme:editor" if (agent.slug, mode) == ("editor", "chat") else None


@hookimpl
def on_memory_changed(event: Changed) -> None:
    """Note which page was changed, and how."""
    HEARD.append(f"{event.change.operation} {event.scope.filename}")


@hookimpl
def on_prompt_composed(assembly: Assembly) -> None:
    """Note for whom a prompt was made."""
    HEARD.append(f"{assembly.request.agent.slug} in {assembly.request.mode}")
