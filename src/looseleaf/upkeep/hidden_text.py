"""The doctor's look for hidden text: characters in pages that people do not see and models read."""

from __future__ import annotations

from looseleaf.errors import LooseleafError
from looseleaf.memory.store import Missing
from looseleaf.memory.text.hidden_characters import describe_hidden
from looseleaf.upkeep.finding import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from looseleaf.memory.pages import MemoryPages
    from looseleaf.memory.scope import Scope, Shelf

_MOST = 20
_ADVICE = "Look at the line in an editor that shows such characters, and take them out."


def check_hidden_text(
    pages: MemoryPages, shelves: Iterable[Shelf], *, every_page: bool
) -> Iterator[Finding]:
    """Report hidden characters on core pages, or on every page."""
    count = 0
    for scope in _list_scopes(pages, shelves, every_page=every_page):
        description = _describe_page(pages, scope)
        if description:
            count += 1
            if count <= _MOST:
                yield Finding("hidden text", "warning", f"{scope.key}: {description}", _ADVICE)
    if count > _MOST:
        yield Finding("hidden text", "warning", f"{count - _MOST} more pages", _ADVICE)


def _list_scopes(
    pages: MemoryPages, shelves: Iterable[Shelf], *, every_page: bool
) -> Iterator[Scope]:
    for shelf in shelves:
        if every_page:
            yield from (shelf.page(entry.filename) for entry in pages.list(shelf))
        else:
            files = pages.registry.by_layer(shelf.layer)
            yield from (shelf.page(file.filename) for file in files)


def _describe_page(pages: MemoryPages, scope: Scope) -> str:
    try:
        page = pages.read(scope)
    except LooseleafError:
        return ""  # another check reports this page
    return (
        "" if isinstance(page, Missing) else describe_hidden(page.content.decode(errors="ignore"))
    )
