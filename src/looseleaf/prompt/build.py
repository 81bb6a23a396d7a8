"""Building the chain of a workspace, with registries that plugins fill."""

from __future__ import annotations

from looseleaf.prompt.chain import Chain
from looseleaf.prompt.directives.directive import Directives
from looseleaf.prompt.directives.view import PromptParts
from looseleaf.prompt.filters import Filters
from looseleaf.prompt.token_count import resolve_tokenizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from looseleaf.memory.policy import PolicyDecision
    from looseleaf.memory.registry import FileRegistry
    from looseleaf.prompt.directives.page_sources import Sources
    from looseleaf.prompt.request import Request, Tool
    from looseleaf.settings import Settings

SITE = ("name", "url", "language", "timezone")


def open_chain(
    settings: Settings,
    registry: FileRegistry,
    sources: Sources,
    *,
    fill: Callable[..., Any],
    decide_tools: Callable[[Request], Iterable[tuple[Tool, PolicyDecision]]],
    clock: Callable[[], float],
) -> Chain:
    """Build a chain; `fill` returns a registry that a hook has filled.

    `decide_tools` decides about the tools that a request brings.
    """
    directives: Directives = fill("register_directives", directives=Directives())
    content: Filters = fill(
        "register_content_filters", filters=Filters("content filter", "register_content_filters")
    )
    files: Filters = fill(
        "register_file_filters", filters=Filters("file filter", "register_file_filters")
    )
    scoped_files: Filters = fill(
        "register_scoped_file_filters",
        filters=Filters("scoped file filter", "register_scoped_file_filters"),
    )
    context: Filters = fill(
        "register_site_context", filters=Filters("site context", "register_site_context")
    )
    site = {name: text for name in SITE if (text := getattr(settings, name))}
    site_facts = site if settings.site_context else None
    return Chain(
        directives,
        PromptParts(
            registry=registry,
            sources=sources,
            content_filters=content,
            file_filters=files,
            scoped_file_filters=scoped_files,
            site=site_facts,
            site_filters=context,
            decide_tools=decide_tools,
            keep_comments=settings.prompt_comments,
        ),
        clock=clock,
        tokenizer=resolve_tokenizer(settings.tokenizer, settings.tokenizer_folder),
    )
