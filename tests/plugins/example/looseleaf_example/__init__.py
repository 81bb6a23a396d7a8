"""A plugin that uses every hook: a newspaper's house style for all its agents."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from typing import Any

from looseleaf import FileRegistry, Settings, Shelf, Store, hookimpl
from looseleaf.agents.record import AgentRecord
from looseleaf.catalog.context import Context
from looseleaf.catalog.page_checks import CheckRun, Checks, Finding
from looseleaf.catalog.plugin_settings import PluginSettings
from looseleaf.catalog.registry import Operations
from looseleaf.catalog.resolution import scope_of
from looseleaf.catalog.services import PartOpeners, WorkspaceServices
from looseleaf.features.workflows.packet import create_packet
from looseleaf.features.workflows.schedules import TaskSchedules
from looseleaf.features.workflows.step import StepOutcome, StepRun, StepType, StepTypes
from looseleaf.features.workflows.system_tasks import SystemTask, SystemTasks, TaskResult, TaskRun
from looseleaf.memory.composed import ComposeContext, ComposedSections
from looseleaf.memory.pages import Changed
from looseleaf.memory.registry import RegisteredFile
from looseleaf.memory.scope import DEFAULT_WHERE, Where
from looseleaf.memory.templates import PageStarters, TemplateContext
from looseleaf.plugins.admin_pages import AdminPages, Document, Visit
from looseleaf.plugins.commands import Commands
from looseleaf.plugins.endpoints import Endpoints
from looseleaf.prompt.assembly import Assembly
from looseleaf.prompt.directive import Directives, DirectiveView, Filters, PageFacts
from looseleaf.prompt.outputs import Text
from looseleaf.prompt.request import Request
from looseleaf.stores.disk.store import DiskStore

PAGE = "style-guide.md"
HEARD: list[str] = []
"""What the listeners were told, for whoever wants to know."""


@hookimpl
def register_settings(plugin_settings: PluginSettings) -> None:
    """Let people choose the hour of the deadline, and what edition is made."""
    plugin_settings.register(
        "deadline_hour",
        17,
        "The hour at which the paper is finished.",
        rule=lambda hour: "" if hour < 24 else "a day has 24 hours",
        runtime=True,
    )
    plugin_settings.register("editions", ("evening",), "The editions of a day.")


@hookimpl
def register_files(files: FileRegistry) -> None:
    """Add the style guide to every prompt, after the rules."""
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


def _deadline(view: DirectiveView) -> Iterable[Text]:
    yield Text(f"{view.agent.slug}, the deadline is at five.")


@hookimpl
def register_content_filters(filters: Filters) -> None:
    """Keep telephone numbers out of prompts."""
    filters.register("numbers", 50, _without_numbers)


def _without_numbers(text: str, facts: PageFacts) -> str:
    return text.replace("555-0100", "…") if facts.mode == "chat" else text


@hookimpl
def register_file_filters(filters: Filters) -> None:
    """Keep the generated page out of the mode `letters`."""
    filters.register("letters", 50, _for_letters)


def _for_letters(files: tuple[RegisteredFile, ...], request: Request) -> tuple[RegisteredFile, ...]:
    return tuple(file for file in files if request.mode != "letters" or file.filename != "SITE.md")


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


def count_words(context: Context, file: str, *, where: Where = DEFAULT_WHERE) -> int:
    """Count the words of a page.

    Arguments:
        file: The name of the page whose words are counted.
    """
    return len(context.pages.text(scope_of(context, file, where)).split())


def list_slugs(parts: WorkspaceServices) -> list[str]:
    """List the agents."""
    return [record.slug for record in parts.agents.records()]


@hookimpl
def register_parts(parts: PartOpeners) -> None:
    """Add a part."""
    parts.register("example-words", list_slugs)


@hookimpl
def register_steps(steps: StepTypes) -> None:
    """Count the words of an item in a step of a pipeline."""
    steps.packets.register("word-count", "The number of words of an item.")
    steps.register(
        StepType(
            name="count-words",
            label="Count words",
            description="Counts the words of the newest item.",
            run=count_packet_words,
            takes=("item",),
            gives=("word-count",),
            settings={
                "type": "object",
                "properties": {
                    "unit": {
                        "type": "string",
                        "enum": ["words", "lines"],
                        "default": "words",
                        "title": "Unit",
                        "description": "What is counted.",
                    },
                    "ignore": {
                        "type": "array",
                        "maxItems": 50,
                        "items": {"type": "string", "maxLength": 100},
                        "title": "Ignored words",
                        "description": "Words that do not count.",
                        "x-when": {"unit": ["words"]},
                    },
                },
            },
        )
    )


def count_packet_words(run: StepRun) -> StepOutcome:
    """Count the words or lines of the newest packet."""
    content = run.packets[0].data["content"]
    if run.settings.get("unit") == "lines":
        count = len(content.splitlines())
    else:
        ignored = set(run.settings.get("ignore", ()))
        count = len([word for word in content.split() if word not in ignored])
    packet = create_packet("word-count", {"count": count}, now=run.parts.clock())
    return StepOutcome(packets=(packet,))


@hookimpl
def register_schedules(schedules: TaskSchedules) -> None:
    """Count the style guide every night."""
    schedules.register("count-style", "example/count-words", "30 3 * * *", params={"file": PAGE})


@hookimpl
def register_system_tasks(tasks: SystemTasks) -> None:
    """Let people count the words of an agent's memory."""
    tasks.register(
        SystemTask(
            type="count_memory_words",
            label="Count words",
            description="Counts the words of MEMORY.md.",
            run=count_memory_words,
            supports_run=True,
        )
    )


def count_memory_words(run: TaskRun) -> TaskResult:
    """Count the words of the page of the agent."""
    assert run.agent is not None
    text = run.parts.pages.text(run.agent.shelf.page("MEMORY.md"))
    return TaskResult("counted", details={"words": len(text.split())})


@hookimpl
def register_admin_pages(pages: AdminPages) -> None:
    """Show the words of the style guide to people."""
    pages.register(
        "words",
        "agents/{agent}/words",
        show_words,
        label="Words",
        section="agent",
        templates=os.path.join(os.path.dirname(__file__), "templates"),
    )


def show_words(visit: Visit) -> Document:
    """Count the words of the style guide."""
    count = visit.run("example/count-words", file=PAGE, agent=visit.parameters["agent"])
    return Document("words.html", "Words", {"count": count, "file": PAGE})


@hookimpl
def register_commands(commands: Commands) -> None:
    """Let people print the style guide, and run the operation."""
    commands.register("style", "looseleaf_example.commands:style", "Print the style guide.")
    commands.register("words", "example/count-words", "Count the words of a page.")


@hookimpl
def register_endpoints(endpoints: Endpoints) -> None:
    """Count the words of a page at an address of its own."""
    endpoints.register("GET", "/words/{file}", "example/count-words")


@hookimpl
def register_checks(checks: Checks) -> None:
    """Let the doctor look for the style guide."""
    checks.register("style", check_style)


def check_style(run: CheckRun) -> Iterable[Finding]:
    """Check that the style guide has a text."""
    if not run.context.pages.text(Shelf("shared").page(PAGE)).strip():
        yield Finding("style", "warning", f"{PAGE} is empty", "Write it.")


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
    """Record which page was changed, and how."""
    HEARD.append(f"{event.change.operation} {event.scope.filename}")


@hookimpl
def on_prompt_composed(assembly: Assembly) -> None:
    """Record for whom a prompt was made."""
    HEARD.append(f"{assembly.request.agent.slug} in {assembly.request.mode}")


@hookimpl
def on_server_started(context: Context) -> None:
    """Note that the house has opened."""
    HEARD.append(f"{context.settings.name} is open")
