"""Which pages there are, where they lie, and which have grown stale."""

from __future__ import annotations

import os

from looseleaf.catalog.declaration import operation
from looseleaf.catalog.resolution import shelf_of
from looseleaf.errors import InvalidName
from looseleaf.memory.day import is_in_journal
from looseleaf.memory.scope import DEFAULT_WHERE, LAYERS, Where
from looseleaf.memory.store import has_paths
from looseleaf.times import DAY_SECONDS
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.context import Context
    from looseleaf.memory.scope import Shelf


@value(kw_only=True)
class PageInfo:
    """One page of a list, with its rules in the registry."""

    file: str
    layer: str
    bytes: int
    updated: float
    registered: bool
    protected: bool
    editable: bool | str
    label: str
    age_days: float


@value
class PagePath:
    """Where a registered page lies, whether or not it is there yet."""

    file: str
    layer: str
    path: str
    exists: bool
    priority: int


@operation(
    "datamachine/list-agent-files",
    permission="read",
    categories=("memory", "files"),
    read_only=True,
)
def list_files(
    context: Context, *, where: Where = DEFAULT_WHERE, daily: bool = False
) -> list[PageInfo]:
    """List the pages an agent reads: core pages in the order of prompts, then the others by layer.

    Arguments:
        daily: Whether the days of the journal are listed, too; each is a page of the agent.
        agent: The agent whose pages are listed, by id or slug; without it, the token's or the
            default agent.
        user: The user whose pages are listed with them, by id; without it, the user who acts.
        layer: The only layer that is listed: shared, agent, user, network or principal;
            without it, all of them.
    """
    pages = [
        _describe_page(context, shelf, entry.filename, entry.bytes, entry.updated)
        for shelf in _list_shelves(context, where)
        for entry in context.pages.list(shelf)
        if daily or not is_in_journal(entry.filename)
    ]
    order = [file.filename for file in context.pages.registry.files()]
    places = {filename: place for place, filename in enumerate(order)}
    last = len(places)
    return sorted(pages, key=lambda page: places[page.file] if page.registered else last)


def _describe_page(
    context: Context, shelf: Shelf, filename: str, size: int, updated: float
) -> PageInfo:
    file = context.pages.registry.get(filename)
    if file is not None and file.layer != shelf.layer:
        file = None
    return PageInfo(
        file=filename,
        layer=shelf.layer,
        bytes=size,
        updated=updated,
        registered=file is not None,
        protected=file is not None and file.protected,
        editable=file.editable if file else True,
        label=file.label if file else "",
        age_days=max(0.0, (context.clock() - updated) / DAY_SECONDS),
    )


@operation(
    "datamachine/list-injectable-memory-files",
    permission="read",
    categories=("memory", "files"),
    read_only=True,
)
def list_paths(context: Context, *, where: Where = DEFAULT_WHERE) -> list[PagePath]:
    """List the registered pages of an agent in the order they are injected, and where they lie.

    Arguments:
        agent: The agent whose prompt the pages are for, by id or slug; without it, the token's or
            the default agent.
        user: The user whose pages are listed with them, by id; without it, the user who acts.
        layer: Not used here: each registered page is listed in its own layer.
    """
    paths = []
    for file in context.pages.registry.files():
        scope = shelf_of(context, where, file.layer).page(file.filename)
        store = context.pages.store_for(scope)
        paths.append(
            PagePath(
                file.filename,
                file.layer,
                _format_path(context, store.path(scope)) if has_paths(store) else "",
                store.exists(scope),
                file.priority,
            )
        )
    return paths


def _format_path(context: Context, path: str) -> str:
    # Only the local administrator learns where the workspace lies on its machine.
    return path if context.principal.is_local else os.path.relpath(path, context.settings.root)


def _list_shelves(context: Context, where: Where) -> list[Shelf]:
    if where.layer is not None and where.layer not in LAYERS:
        raise InvalidName(where.layer, f"a layer is one of {', '.join(LAYERS)}")
    layers = [layer for layer in LAYERS if where.layer in (None, layer)]
    return [shelf_of(context, where, layer) for layer in layers]
