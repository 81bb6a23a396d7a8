"""Reports about a prompt: an explanation, a comparison, overruns and problems."""

from __future__ import annotations

from looseleaf.memory.store import hash_content
from looseleaf.prompt.assembly import BETWEEN
from looseleaf.prompt.outputs import Data, File, LeftOut, Text
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from looseleaf.prompt.assembly import Assembly, Piece
    from looseleaf.prompt.outputs import Source, Tokenizer

    Kind = Literal["same", "changed", "added", "removed"]


@value(kw_only=True)
class Candidate:
    """One page, text, table or file that was considered; `rule` says what became of it.

    Bytes, words and tokens are those of its message, so they add up to the whole prompt. `size` is
    the size of a page that was left out.
    """

    priority: int
    directive: str
    kind: str  # page, text, data, file, or directive without output
    name: str
    layer: str
    rule: str
    bytes: int
    words: int
    tokens: int
    size: int = 0
    changed: str = ""
    by: str = ""
    detail: str = ""
    comments: int = 0  # the bytes of comments that were left out of it


@value
class ToolCandidate:
    """One tool that was considered for a conversation; `rule` is `given`, or what left it out."""

    name: str
    rule: str
    actions: tuple[str, ...] = ()  # of a tool with actions, those that the model may choose


@value
class Prefix:
    """The beginning of a prompt that no change of date or call can change."""

    messages: int
    bytes: int
    tokens: int
    hash: str


@value(kw_only=True)
class Explanation:
    """A prompt, candidate by candidate, and its size in all."""

    agent: str
    mode: str
    user: int
    candidates: tuple[Candidate, ...]
    messages: int
    bytes: int
    words: int
    tokens: int
    tokenizer: str
    hash: str
    stable: Prefix
    comments: int = 0  # the bytes of comments that were left out, of all pages
    truncated: tuple[str, ...] = ()  # pages that are given in part
    omitted: tuple[str, ...] = ()  # pages that should be given and are not
    tools: tuple[ToolCandidate, ...] = ()  # of a conversation in this mode


@value
class CandidateDifference:
    """One candidate on both sides; `rule` and `bytes` are (before, after)."""

    name: str
    layer: str
    directive: str
    kind: Literal["same", "changed", "added", "removed"]
    rule: tuple[str, str]
    bytes: tuple[int, int]


@value(kw_only=True)
class PromptComparison:
    """Two prompts: their common beginning, and where they differ.

    `first` is the offset of the first byte that differs, None if none does; `message` and `name`
    say where that is, `line` and `column` count from 1 within that message, and `before` and
    `after` show the text there.
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
    differences: tuple[CandidateDifference, ...]
    tokenizer: str


@value
class Overrun:
    """Something that takes more than it may; `name` is "" for the whole prompt."""

    name: str
    layer: str
    size: int
    limit: int
    unit: str


@value
class PageProblem:
    """A page that is not as it should be, and what to do about it."""

    file: str
    layer: str
    kind: Literal["unreadable", "not_text", "merge_conflict", "conflicting_copy"]
    detail: str
    advice: str


# The explanation of a prompt: every candidate in order, given or left out, and its size.


INJECTED = "injected"


def explain_prompt(assembly: Assembly, tokenizer: Tokenizer) -> Explanation:
    """Explain for every candidate whether the model is given it, by which rule, and its size."""
    request, text, stable = assembly.request, assembly.text, assembly.stable_text
    return Explanation(
        agent=request.agent.slug,
        mode=request.mode,
        user=request.user,
        candidates=tuple(_build_candidate(piece, tokenizer) for piece in assembly.pieces),
        messages=len(assembly.messages),
        bytes=len(text.encode()),
        words=len(text.split()),
        tokens=tokenizer.count(text),
        tokenizer=tokenizer.name,
        hash=assembly.hash,
        stable=measure_prefix(stable, sum(1 for piece in assembly.stable if piece.text), tokenizer),
        comments=sum(source.comments for piece in assembly.pieces if (source := _source_of(piece))),
        truncated=assembly.truncated,
        omitted=assembly.omitted,
    )


def measure_prefix(text: str, messages: int, tokenizer: Tokenizer) -> Prefix:
    """Measure the beginning of a prompt."""
    content = text.encode()
    return Prefix(messages, len(content), tokenizer.count(text), hash_content(content))


def _build_candidate(piece: Piece, tokenizer: Tokenizer) -> Candidate:
    item, directive = piece.item, piece.directive
    source = _source_of(piece)
    left_out = item if isinstance(item, LeftOut) else None
    return Candidate(
        priority=directive.priority,
        directive=directive.name,
        kind=_kind_of(piece),
        name=piece.name,
        layer=piece.layer,
        rule=left_out.rule if left_out else INJECTED,
        bytes=len(piece.text.encode()),
        words=len(piece.text.split()),
        tokens=tokenizer.count(piece.text) if piece.text else 0,
        size=left_out.bytes if left_out else len(piece.text.encode()),
        changed=source.changed if source else "",
        by=source.by if source else "",
        detail=left_out.detail if left_out else piece.cut.detail if piece.cut else "",
        comments=source.comments if source else 0,
    )


def _source_of(piece: Piece) -> Source | None:
    return piece.item.source if isinstance(piece.item, Text | LeftOut) else None


def _kind_of(piece: Piece) -> str:
    item = piece.item
    if isinstance(item, Data):
        return "data"
    if isinstance(item, File):
        return "file"
    if piece.layer:
        return "page"
    if isinstance(item, LeftOut):
        return "directive" if item.name == piece.directive.name else "tool"
    return "text"


# The comparison of two prompts: their common beginning, and the first byte that differs.


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
