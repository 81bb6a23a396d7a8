"""Which pages there are, where they lie, and which have grown stale."""

from __future__ import annotations

import os

from looseleaf.errors import InvalidName
from looseleaf.memory.scope import LAYERS
from looseleaf.operations.catalog import operation
from looseleaf.operations.context import HERE, Where, shelf_of
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.memory.scope import Shelf
    from looseleaf.operations.context import Context

DAY = 86_400.0


@value
class PageInfo:
    """One page of a listing, with what the registry says of it."""

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
def list_files(context: Context, *, where: Where = HERE, daily: bool = False) -> list[PageInfo]:
    """List the pages an agent reads, layer by layer; its journal only if asked."""
    return [
        _info(context, shelf, entry.filename, entry.bytes, entry.updated)
        for shelf in _shelves(context, where)
        for entry in context.pages.list(shelf)
        if daily or not entry.filename.startswith("daily/")
    ]


def _info(context: Context, shelf: Shelf, filename: str, size: int, updated: float) -> PageInfo:
    file = context.pages.registry.get(filename)
    if file is not None and file.layer != shelf.layer:
        file = None
    return PageInfo(
        filename,
        shelf.layer,
        size,
        updated,
        file is not None,
        file is not None and file.protected,
        file.editable if file else True,
        file.label if file else "",
        max(0.0, (context.clock() - updated) / DAY),
    )


@operation(
    "datamachine/list-injectable-memory-files",
    permission="read",
    categories=("memory", "files"),
    read_only=True,
)
def list_paths(context: Context, *, where: Where = HERE) -> list[PagePath]:
    """List the registered pages of an agent in the order they are injected, and where they lie."""
    paths = []
    for file in context.pages.registry.files():
        scope = shelf_of(context, where, file.layer).page(file.filename)
        store = context.pages.store_for(scope)
        path = getattr(store, "path", None)
        paths.append(
            PagePath(
                file.filename,
                file.layer,
                _shown(context, path(scope)) if path else "",
                store.exists(scope),
                file.priority,
            )
        )
    return paths


def _shown(context: Context, path: str) -> str:
    # Where the workspace lies on its machine is nobody's business elsewhere.
    return path if context.principal.is_local else os.path.relpath(path, context.settings.root)


def _shelves(context: Context, where: Where) -> list[Shelf]:
    if where.layer is not None and where.layer not in LAYERS:
        raise InvalidName(where.layer, f"a layer is one of {', '.join(LAYERS)}")
    layers = [layer for layer in LAYERS if where.layer in (None, layer)]
    return [shelf_of(context, where, layer) for layer in layers]
