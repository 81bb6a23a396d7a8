"""A chain with directives of the test's own, over a real workspace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.catalog.tool_access import decide_request_tools
from looseleaf.prompt.assembly import Assembly
from looseleaf.prompt.chain import Chain
from looseleaf.prompt.directive import Directives, Filters, PresentSources, PromptParts
from looseleaf.prompt.outputs import LeftOut, resolve_tokenizer
from looseleaf.prompt.request import Request
from looseleaf.values import replace

ChainOf = Callable[..., Chain]
RequestOf = Callable[..., Request]


def list_pages(assembly: Assembly) -> list[str]:
    """Name the pages that are in a prompt."""
    return [piece.name for piece in assembly.pieces if piece.injected and piece.layer]


def list_left_out(assembly: Assembly) -> dict[str, str]:
    """Name the pages that were left out, each with the rule."""
    return {
        piece.name: piece.item.rule for piece in assembly.pieces if isinstance(piece.item, LeftOut)
    }


def open_parts(workspace: Workspace) -> PromptParts:
    """Return a workspace with lists of filters that are not frozen, as its plugins get them."""
    chain = workspace.chain()
    chain.parts = replace(
        chain.parts,
        content_filters=Filters("content filter", "register_content_filters"),
        file_filters=Filters("file filter", "register_file_filters"),
        scoped_file_filters=Filters("scoped file filter", "register_scoped_file_filters"),
        site_filters=Filters("site context", "register_site_context"),
    )
    return chain.parts


@pytest.fixture
def parts(workspace: Workspace) -> PromptParts:
    """Return the parts that directive views share, with empty lists of filters."""
    return PromptParts(
        registry=workspace.registry,
        sources=PresentSources(workspace.pages, lambda _scope: workspace.history),
        content_filters=Filters("content filter", "register_content_filters"),
        file_filters=Filters("file filter", "register_file_filters"),
        scoped_file_filters=Filters("scoped file filter", "register_scoped_file_filters"),
        site={"name": "House"},
        site_filters=Filters("site context", "register_site_context"),
        decide_tools=decide_request_tools,
    )


@pytest.fixture
def chain_of(workspace: Workspace, parts: PromptParts) -> ChainOf:
    """Make a chain of directives given as (name, priority, function) and options."""

    def build_chain(*directives: tuple[Any, ...], **options: Any) -> Chain:  # noqa: ANN401 - as registered
        registry = Directives()
        for name, priority, function in directives:
            registry.register(name, priority, function, **options)
        return Chain(registry, parts, clock=workspace.clock, tokenizer=resolve_tokenizer())

    return build_chain


@pytest.fixture
def request_of(workspace: Workspace) -> RequestOf:
    """Make a request for ada in a mode."""

    def build_request(mode: str = "chat", **fields: Any) -> Request:  # noqa: ANN401 - fields of a request
        return Request(agent=workspace.agents.resolve("ada"), mode=mode, user=1, **fields)

    return build_request
