"""Budgets: a page that does not fit is left out whole, and the prompt says so."""

from __future__ import annotations

from looseleaf.prompt.assembly import BETWEEN, Piece
from looseleaf.prompt.directives.outputs import LeftOut, Text
from looseleaf.prompt.reports import Overrun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from looseleaf.agents.budget import Budget
    from looseleaf.memory.registry import FileRegistry
    from looseleaf.prompt.assembly import Assembly


def fit_pieces(
    pieces: Iterable[Piece], budget: Budget, count_tokens: Callable[[str], int]
) -> list[Piece]:
    """Allot room to the pieces by importance, in their order; notices are not counted."""

    def size_of(text: str) -> int:
        return len(text.encode()) if budget.unit == "bytes" else count_tokens(text)

    result = list(pieces)
    used_size = 0
    for place in rank_places(result):
        piece = result[place]
        size = size_of(piece.text)
        reason = _describe_excess(piece, size, used_size, budget)
        if reason:
            result[place] = leave_out(piece, reason)
        else:
            used_size += size + (size_of(BETWEEN) if budget.unit == "bytes" else 0)
    return result


def rank_places(pieces: list[Piece]) -> list[int]:
    """Return the places of the injected pieces, the most important first.

    The words of directives (the task, the tools) come before pages. Of pages, those of the agent
    and its person (SOUL, USER, MEMORY) come first, and generated ones last.
    """
    places = [place for place, piece in enumerate(pieces) if piece.injected]
    return sorted(places, key=lambda place: rank_of(pieces[place]))


def rank_of(piece: Piece) -> int:
    """Return the rank of a piece if room is short; the words of directives have 0."""
    source = piece.item.source if isinstance(piece.item, Text) else None
    return source.rank if source is not None else 0


def _describe_excess(piece: Piece, size: int, used_size: int, budget: Budget) -> str:
    page = isinstance(piece.item, Text) and piece.item.source is not None
    if budget.page and page and size > budget.page:
        return f"it takes {size} {budget.unit}, and a page may take {budget.page}"
    if budget.total and used_size + size > budget.total:
        rest = max(0, budget.total - used_size)
        return f"it takes {size} {budget.unit}, and of {budget.total} there are {rest} left"
    return ""


def leave_out(piece: Piece, reason: str) -> Piece:
    """Replace a piece by a notice that it does not fit."""
    source = piece.item.source if isinstance(piece.item, Text) else None
    size = len(piece.text.encode())
    left_out = LeftOut(piece.name, "over_budget", piece.layer, size, reason, source)
    return Piece(piece.directive, left_out, format_notice(left_out))


def format_notice(left_out: LeftOut) -> str:
    """State in the prompt which page is not in it, and why: the model may ask for it."""
    act = "was left out" if left_out.rule == "over_budget" else "could not be given"
    return f"[{left_out.name} {act}: {left_out.detail}]"


def find_overruns(
    assembly: Assembly,
    budgets: Iterable[Budget],
    count_tokens: Callable[[str], int],
    registry: FileRegistry,
) -> list[Overrun]:
    """List the pages over their own or the prompt's budget, and the whole prompt if it is."""
    overruns = []
    for piece in assembly.pieces:
        source = piece.item.source if isinstance(piece.item, Text) else None
        if source is not None:
            overruns += _find_page_overruns(piece, registry)
    for budget in budgets:
        in_bytes = budget.unit == "bytes"
        for piece in assembly.pieces:
            size = len(piece.text.encode()) if in_bytes else count_tokens(piece.text)
            if budget.page and piece.injected and piece.layer and size > budget.page:
                overruns.append(Overrun(piece.name, piece.layer, size, budget.page, budget.unit))
        total_size = len(assembly.text.encode()) if in_bytes else count_tokens(assembly.text)
        if budget.total and total_size > budget.total:
            overruns.append(Overrun("", "", total_size, budget.total, budget.unit))
    return overruns


def _find_page_overruns(piece: Piece, registry: FileRegistry) -> list[Overrun]:
    """Compare a page, without its label, with the budgets it is registered with."""
    file = registry.get(piece.name)
    if file is None or not isinstance(piece.item, Text) or piece.item.source is None:
        return []
    text = piece.text.partition("\n")[2].rpartition("\n")[0]
    sizes = (
        (len(text.encode()), file.byte_budget, "bytes"),
        (len(text.split()), file.word_budget, "words"),
    )
    return [
        Overrun(piece.name, piece.layer, size, limit, unit)
        for size, limit, unit in sizes
        if limit and size > limit
    ]
