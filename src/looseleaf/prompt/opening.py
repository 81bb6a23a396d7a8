"""Opening the chain of a workspace: its registries made, filled by whoever has something to add."""

from __future__ import annotations

from looseleaf.prompt.chain import Chain
from looseleaf.prompt.desk import Furniture
from looseleaf.prompt.directive import Directives
from looseleaf.prompt.filters import Filters
from looseleaf.prompt.tokens import tokenizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from looseleaf.memory.registry import FileRegistry
    from looseleaf.prompt.sources import Sources
    from looseleaf.settings import Settings

SITE = ("name", "url", "language", "timezone")


def open_chain(
    settings: Settings,
    registry: FileRegistry,
    sources: Sources,
    *,
    fill: Callable[..., Any],
    clock: Callable[[], float],
) -> Chain:
    """Make a chain; `fill` gives back a registry, filled by a hook."""
    directives: Directives = fill("register_directives", directives=Directives())
    content: Filters = fill(
        "register_content_filters", filters=Filters("content filter", "register_content_filters")
    )
    files: Filters = fill(
        "register_file_filters", filters=Filters("file filter", "register_file_filters")
    )
    scoped: Filters = fill(
        "register_scoped_file_filters",
        filters=Filters("scoped file filter", "register_scoped_file_filters"),
    )
    context: Filters = fill(
        "register_site_context", filters=Filters("site context", "register_site_context")
    )
    site = {name: text for name in SITE if (text := getattr(settings, name))}
    told = site if settings.site_context else None
    return Chain(
        directives,
        Furniture(
            registry, sources, content, files, scoped, told, context, settings.prompt_comments
        ),
        clock=clock,
        tokenizer=tokenizer(settings.tokenizer, settings.tokenizer_folder),
    )
