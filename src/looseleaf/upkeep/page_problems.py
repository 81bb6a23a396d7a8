"""Problems of pages themselves: not readable, not text, half merged, or duplicated."""

from __future__ import annotations

import os

from looseleaf.errors import LooseleafError
from looseleaf.errors.pages import NotText
from looseleaf.memory.pages import decode_text
from looseleaf.memory.scope import Shelf
from looseleaf.memory.store import Missing, has_paths
from looseleaf.memory.text.conflict_markers import find_conflict_line, find_original_page
from looseleaf.prompt.directives.outputs import LeftOut
from looseleaf.prompt.reports import PageProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from looseleaf.memory.pages import MemoryPages
    from looseleaf.memory.scope import Scope
    from looseleaf.prompt.assembly import Assembly

    Kind = Literal["unreadable", "not_text", "merge_conflict", "conflicting_copy"]

_MOST_COPIES = 20


def find_prompt_problems(pages: MemoryPages, assembly: Assembly) -> tuple[PageProblem, ...]:
    """Find problems of the pages of a prompt, and copies that lie beside them."""
    problems: list[PageProblem] = []
    for piece in assembly.pieces:
        item = piece.item
        if isinstance(item, LeftOut) and item.rule in ("unreadable", "not_text"):
            problems.append(_build_unreadable(item.name, item.layer, item.rule, item.detail))
        elif piece.injected and piece.layer:
            problems += _find_merge_conflict(piece.name, piece.layer, piece.text, above=1)
    request = assembly.request
    for shelf in (Shelf("shared"), request.agent.shelf, Shelf("user", request.user)):
        problems += find_conflicting_copies(pages, shelf)
    return tuple(problems)


def find_page_problems(pages: MemoryPages, shelf: Shelf) -> Iterator[PageProblem]:
    """Find problems of the registered pages of a shelf, and copies beside them."""
    for file in pages.registry.by_layer(shelf.layer):
        yield from _problems_of(pages, shelf.page(file.filename))
    yield from find_conflicting_copies(pages, shelf)


def _problems_of(pages: MemoryPages, scope: Scope) -> Iterator[PageProblem]:
    name, layer = scope.filename, scope.layer
    try:
        page = pages.read(scope)
        text = "" if isinstance(page, Missing) else decode_text(name, page.content)
    except NotText as error:
        yield _build_unreadable(name, layer, "not_text", str(error))
    except LooseleafError as error:
        yield _build_unreadable(name, layer, "unreadable", str(error))
    else:
        yield from _find_merge_conflict(name, layer, text)


def _build_unreadable(name: str, layer: str, kind: Kind, detail: str) -> PageProblem:
    advice = "Make it a UTF-8 text that this user may read, or restore it from its history."
    return PageProblem(name, layer, kind, detail, advice)


def _find_merge_conflict(
    name: str, layer: str, text: str, *, above: int = 0
) -> Iterator[PageProblem]:
    line = find_conflict_line(text)
    if line:
        detail = f"{name} has the markers of a merge, from line {line - above} on"
        advice = "Choose what is to stay, and take the markers out."
        yield PageProblem(name, layer, "merge_conflict", detail, advice)


def find_conflicting_copies(pages: MemoryPages, shelf: Shelf) -> Iterator[PageProblem]:
    """Find second versions of pages that a program for syncing or merging left on a shelf."""
    count = 0
    for folder, names in _walk_folders(pages, shelf):
        for name in sorted(names):
            page = find_original_page(name, names)
            if page and count < _MOST_COPIES:
                count += 1
                path = f"{folder}/{name}" if folder else name
                detail = f"{path!r} looks like a second version of {page}, which nobody reads"
                advice = f"Put what it has into {page}, then delete it."
                yield PageProblem(path, shelf.layer, "conflicting_copy", detail, advice)


def _walk_folders(pages: MemoryPages, shelf: Shelf) -> Iterator[tuple[str, list[str]]]:
    """Walk the folder of a shelf, if it lies on this disk."""
    store = pages.store_for(shelf)
    if not has_paths(store):
        return
    try:
        root = os.path.dirname(store.path(shelf.page("MEMORY.md")))
    except LooseleafError:
        return  # an agent without a folder, which another check reports
    for folder, _folders, names in os.walk(root):
        path = os.path.relpath(folder, root)
        yield "" if path == "." else path, names
