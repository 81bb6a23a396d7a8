"""The comparison of two prompts: their common beginning, and the first byte that differs."""

from __future__ import annotations

from looseleaf.prompt.assembly import BETWEEN
from looseleaf.prompt.directives.outputs import LeftOut
from looseleaf.prompt.explain import INJECTED, measure_prefix
from looseleaf.prompt.reports import CandidateDifference, PromptComparison

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from looseleaf.prompt.assembly import Assembly, Piece
    from looseleaf.prompt.token_count import Tokenizer

    Kind = Literal["same", "changed", "added", "removed"]

_AROUND = 40


def compare_prompts(before: Assembly, after: Assembly, tokenizer: Tokenizer) -> PromptComparison:
    """Compare two prompts byte by byte and candidate by candidate."""
    old, new = before.text.encode(), after.text.encode()
    common = _count_common(old, new)
    first = None if old == new else common
    message, piece, start = _find_place(after if common < len(new) else before, common)
    text = (new if common < len(new) else old)[start:common].decode(errors="replace")
    common_text = old[:common].decode(errors="ignore")
    return PromptComparison(
        same=first is None,
        first=first,
        message=message if first is not None else 0,
        name=piece.name if piece is not None and first is not None else "",
        line=text.count("\n") + 1 if first is not None else 0,
        column=len(text.rpartition("\n")[2]) + 1 if first is not None else 0,
        before=_cut_excerpt(old, first),
        after=_cut_excerpt(new, first),
        common=measure_prefix(
            common_text, message - 1 if first is not None else message, tokenizer
        ),
        bytes=(len(old), len(new)),
        tokens=(tokenizer.count(before.text), tokenizer.count(after.text)),
        hash=(before.hash, after.hash),
        differences=_list_differences(before, after),
        tokenizer=tokenizer.name,
    )


def _count_common(old: bytes, new: bytes) -> int:
    # Slices compare at the speed of memory, single bytes at that of Python.
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _find_place(assembly: Assembly, offset: int) -> tuple[int, Piece | None, int]:
    """Find the message an offset falls into: its number, its piece and where it starts."""
    start, number, message_piece = 0, 0, None
    begins = 0
    for piece in assembly.pieces:
        if not piece.text:
            continue
        number, message_piece, begins = number + 1, piece, start
        start += len(piece.text.encode()) + len(BETWEEN)
        if offset < start:
            break
    return number, message_piece, begins


def _cut_excerpt(content: bytes, first: int | None) -> str:
    if first is None:
        return ""
    return content[first : first + _AROUND].decode(errors="replace")


def _list_differences(before: Assembly, after: Assembly) -> tuple[CandidateDifference, ...]:
    old, new = _by_key(before), _by_key(after)
    keys = [key for key in old if key not in new]
    return tuple(_build_difference(key, old.get(key), new.get(key)) for key in [*new, *keys])


def _by_key(assembly: Assembly) -> dict[tuple[str, str, str], Piece]:
    return {(piece.name, piece.layer, piece.directive.name): piece for piece in assembly.pieces}


def _build_difference(
    key: tuple[str, str, str], old: Piece | None, new: Piece | None
) -> CandidateDifference:
    name, layer, directive = key
    texts = (old.text if old else "", new.text if new else "")
    if texts[0] == texts[1]:
        kind: Kind = "same"
    elif not texts[0]:
        kind = "added"
    elif not texts[1]:
        kind = "removed"
    else:
        kind = "changed"
    rules = (_rule_of(old), _rule_of(new))
    sizes = (len(texts[0].encode()), len(texts[1].encode()))
    return CandidateDifference(name, layer, directive, kind, rules, sizes)


def _rule_of(piece: Piece | None) -> str:
    if piece is None:
        return ""
    return piece.item.rule if isinstance(piece.item, LeftOut) else INJECTED
