"""The doctor's look for hidden text: characters in pages that people do not see and models read."""

from __future__ import annotations

from looseleaf.errors import LooseleafError
from looseleaf.memory.characters import describe_hidden
from looseleaf.memory.store import Missing
from looseleaf.operations.prompt_condition import shelves_to_check
from looseleaf.stores.condition import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.memory.scope import Scope
    from looseleaf.operations.context import Context

_MOST = 20
_ADVICE = "Look at the line in an editor that shows such characters, and take them out."


def check_hidden_text(context: Context, *, every_page: bool) -> Iterator[Finding]:
    """Report hidden characters on core pages, or on every page."""
    count = 0
    for scope in _scopes(context, every_page=every_page):
        hidden = _hidden(context, scope)
        if hidden:
            count += 1
            if count <= _MOST:
                yield Finding("hidden text", "warning", f"{scope.key}: {hidden}", _ADVICE)
    if count > _MOST:
        yield Finding("hidden text", "warning", f"{count - _MOST} more pages", _ADVICE)


def _scopes(context: Context, *, every_page: bool) -> Iterator[Scope]:
    for shelf in shelves_to_check(context):
        if every_page:
            yield from (shelf.page(entry.filename) for entry in context.pages.list(shelf))
        else:
            files = context.pages.registry.by_layer(shelf.layer)
            yield from (shelf.page(file.filename) for file in files)


def _hidden(context: Context, scope: Scope) -> str:
    try:
        page = context.pages.read(scope)
    except LooseleafError:
        return ""  # another check says what is wrong with this page
    return (
        "" if isinstance(page, Missing) else describe_hidden(page.content.decode(errors="ignore"))
    )
