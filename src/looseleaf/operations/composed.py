"""Composing generated pages, projecting them to other tools, and starting a workspace."""

from __future__ import annotations

import os

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.generated_pages import (
    find_page_agent,
    generate_text,
    project_folder_of,
    write_copy,
)
from looseleaf.catalog.resolution import require_outcome, resolve_agent, scope_of, sources_of
from looseleaf.errors import Invalid, NotFound
from looseleaf.memory.provenance import FROM_SYSTEM
from looseleaf.memory.scope import DEFAULT_WHERE, Shelf, Where
from looseleaf.operations.agents import create_agent, start_pages
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from looseleaf.catalog.context import Context
    from looseleaf.memory.registry import RegisteredFile


@value
class Composed:
    """A page that was made anew: whether it changed, and where its copy went."""

    file: str
    bytes: int
    changed: bool
    projected: str = ""


@operation(
    "looseleaf/compose-files", permission="identity", categories=("composed",), idempotent=True
)
def compose(context: Context, file: str = "", *, where: Where = DEFAULT_WHERE) -> list[Composed]:
    """Regenerate the generated pages, or one of them, and put their copies where they belong.

    Arguments:
        file: The one generated page to make anew, such as AGENTS.md; without it, all of them.
        agent: The agent for whom a page of the agent layer is made, by id or slug; without it, the
            default agent.
        user: The user for whom a page of the user layer is made, by id; without it, the user who
            acts.
        layer: Not used here: a generated page has its own layer.
    """
    context.allow()  # a copy may go to a project that all agents share
    generated_pages = [page for page in context.pages.registry.files() if page.composable]
    targets = (
        [page for page in generated_pages if page.filename == file] if file else generated_pages
    )
    if not targets:
        filenames = ", ".join(page.filename for page in generated_pages) or "none"
        raise NotFound(f"{file} is not a generated page. Generated pages: {filenames}.")
    return [_compose(context, page, where) for page in targets]


def _compose(context: Context, file: RegisteredFile, where: Where) -> Composed:
    text = compose_page_text(context, file, where)
    if not text:
        raise Invalid(f"{file.filename} has no section with anything to say; nothing was written.")
    scope = scope_of(context, file.filename, Where(where.agent, where.user, file.layer))
    change = context.change("compose", origin=FROM_SYSTEM)
    outcome = context.pages.write(scope, text, change=change)
    receipt = require_outcome(file.filename, outcome)
    target = ""
    if file.convention_path:
        folder = project_folder_of(context.settings, file)
        write_copy(folder, file.convention_path, text)
        target = os.path.join(folder, file.convention_path)
    return Composed(file.filename, receipt.bytes, receipt.changed, target)


def compose_page_text(context: Context, file: RegisteredFile, where: Where) -> str:
    """Generate the text of a page as it should be now, for the agent that is meant."""
    is_named = where.agent is not None
    agent = find_page_agent(file, lambda: resolve_agent(context, where), is_named=is_named)
    return generate_text(sources_of(context, where.user), file, agent)


# The first pages of a workspace: records for its folders, a first agent, and the core pages.


FIRST_AGENT = "main"


def start_workspace(context: Context, folders: Iterable[str], agent: str = "") -> None:
    """Add missing records of agents, create a first agent, start the core pages."""
    known_slugs = {record.slug for record in context.parts.agents.records()}
    new = [slug for slug in folders if slug not in known_slugs]
    first = agent or ("" if known_slugs or new else FIRST_AGENT)
    if first and first not in known_slugs and first not in new:
        new.append(first)
    for slug in new:
        create_agent(context, slug)
    start_pages(context, Shelf("shared"))
    latest = context.history.latest(Shelf("shared").page("SITE.md"))
    # A page from elsewhere, such as the original plugin's, is replaced only when asked.
    if latest is None or not latest.hash or latest.operation == "compose":
        compose(context, "SITE.md")
