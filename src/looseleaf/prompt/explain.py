"""The explanation of a prompt: every candidate in order, given or left out, and its size."""

from __future__ import annotations

from hashlib import sha256

from looseleaf.prompt.directives.outputs import Data, File, LeftOut, Text
from looseleaf.prompt.reports import Candidate, Explanation, Prefix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.prompt.assembly import Assembly, Piece
    from looseleaf.prompt.directives.outputs import Source
    from looseleaf.prompt.token_count import Tokenizer

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
    return Prefix(messages, len(content), tokenizer.count(text), sha256(content).hexdigest())


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
        detail=left_out.detail if left_out else "",
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
