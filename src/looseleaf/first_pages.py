"""The first pages of a workspace: records for its folders, a first agent, and the core pages."""

from __future__ import annotations

from looseleaf.memory.scope import Shelf
from looseleaf.operations.agents import create_agent, start_pages
from looseleaf.operations.composed import compose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from looseleaf.catalog.context import Context

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
