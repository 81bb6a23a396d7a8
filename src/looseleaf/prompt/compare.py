"""What two prompts have in common: the first byte that differs, and whose it is."""

from __future__ import annotations

from looseleaf.prompt.assembly import BETWEEN
from looseleaf.prompt.explain import INJECTED, prefix
from looseleaf.prompt.outputs import LeftOut
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from looseleaf.prompt.assembly import Assembly, Piece
    from looseleaf.prompt.explain import Prefix
    from looseleaf.prompt.tokens import Tokenizer

    Kind = Literal["same", "changed", "added", "removed"]

_AROUND = 40


@value
class Difference:
    """One candidate on both sides; `rule` and `bytes` are (before, after)."""

    name: str
    layer: str
    directive: str
    kind: Kind
    rule: tuple[str, str]
    bytes: tuple[int, int]


@value
class Comparison:
    """Two prompts: what is the same from the start, and where they part.

    `first` is the offset of the first byte that differs, None where none does; `message` and `name`
    say where that is, `line` and `column` count from 1 within that message, and `before` and
    `after` show what stands there.
    """

    same: bool
    first: int | None
    message: int
    name: str
    line: int
    column: int
    before: str
    after: str
    common: Prefix
    bytes: tuple[int, int]
    tokens: tuple[int, int]
    hash: tuple[str, str]
    differences: tuple[Difference, ...]
    tokenizer: str


def compared(before: Assembly, after: Assembly, tokenizer: Tokenizer) -> Comparison:
    """Compare two prompts byte by byte and candidate by candidate."""
    old, new = before.text.encode(), after.text.encode()
    common = _common(old, new)
    first = None if old == new else common
    message, piece, start = _place(after if common < len(new) else before, common)
    text = (new if common < len(new) else old)[start:common].decode(errors="replace")
    shared = old[:common].decode(errors="ignore")
    return Comparison(
        first is None,
        first,
        message if first is not None else 0,
        piece.name if piece is not None and first is not None else "",
        text.count("\n") + 1 if first is not None else 0,
        len(text.rpartition("\n")[2]) + 1 if first is not None else 0,
        _around(old, first),
        _around(new, first),
        prefix(shared, message - 1 if first is not None else message, tokenizer),
        (len(old), len(new)),
        (tokenizer.count(before.text), tokenizer.count(after.text)),
        (before.hash, after.hash),
        _differences(before, after),
        tokenizer.name,
    )


def _common(old: bytes, new: bytes) -> int:
    # Slices compare at the speed of memory, single bytes at that of Python.
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _place(assembly: Assembly, offset: int) -> tuple[int, Piece | None, int]:
    """Find the message an offset falls into: its number, its piece and where it starts."""
    start, number, found = 0, 0, None
    begins = 0
    for piece in assembly.pieces:
        if not piece.text:
            continue
        number, found, begins = number + 1, piece, start
        start += len(piece.text.encode()) + len(BETWEEN)
        if offset < start:
            break
    return number, found, begins


def _around(content: bytes, first: int | None) -> str:
    if first is None:
        return ""
    return content[first : first + _AROUND].decode(errors="replace")


def _differences(before: Assembly, after: Assembly) -> tuple[Difference, ...]:
    old, new = _by_key(before), _by_key(after)
    keys = [key for key in old if key not in new]
    return tuple(_difference(key, old.get(key), new.get(key)) for key in [*new, *keys])


def _by_key(assembly: Assembly) -> dict[tuple[str, str, str], Piece]:
    return {(one.name, one.layer, one.directive.name): one for one in assembly.pieces}


def _difference(key: tuple[str, str, str], old: Piece | None, new: Piece | None) -> Difference:
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
    rules = (_rule(old), _rule(new))
    sizes = (len(texts[0].encode()), len(texts[1].encode()))
    return Difference(name, layer, directive, kind, rules, sizes)


def _rule(piece: Piece | None) -> str:
    if piece is None:
        return ""
    return piece.item.rule if isinstance(piece.item, LeftOut) else INJECTED
