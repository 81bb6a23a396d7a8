"""A page in a prompt: a labelled block whose end no page can forge."""

from __future__ import annotations

from looseleaf.memory.store import hash_content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.prompt.directives.outputs import Source

_SHORTEST = 12
# At the beginning of a line, even if the lines are quoted, indented or a list.
_EDGE = r'(?m)^[\s>*\-\ufeff]*(<page file="[^"\n]*" .*|</page )fence="[0-9a-f]{12,}">\s*$'
_LINE_ENDS = "\r\n?|[\v\f\x85\u2028\u2029]"
_ESCAPES = {"&": "&amp;", '"': "&quot;", "<": "&lt;", ">": "&gt;"}


def format_block(source: Source, text: str, *, hash: str = "", part: str = "") -> str:  # noqa: A002 - as in the store
    """Wrap a page's text, byte for byte, between two lines that carry the same fence.

    `part` says how much of the page the text is, if it is not all of it.
    """
    mark = choose_fence(text, hash)
    attributes = f"file={_quote(source.file)} layer={_quote(source.layer)}"
    if source.changed:
        attributes += f" changed={_quote(source.changed)}"
    if source.by:
        attributes += f" by={_quote(source.by)}"
    if part:
        attributes += f" part={_quote(part)}"
    size = len(text.encode())
    return f'<page {attributes} bytes="{size}" fence="{mark}">\n{text}\n</page fence="{mark}">'


def holds_block(text: str) -> bool:
    """Return whether a text holds a page as a prompt shows it, or an edge of one."""
    if "fence=" not in text:
        return False
    import re

    return re.search(_EDGE, re.sub(_LINE_ENDS, "\n", text)) is not None


def choose_fence(text: str, hash: str = "") -> str:  # noqa: A002 - as in the store
    """Return a mark that does not occur in a text and stays the same while the text does.

    The mark is the beginning of the text's hash. The author of a page could search for a text that
    holds the beginning of its own hash, so the mark is lengthened until it does not occur.
    """
    digest = hash or hash_content(text.encode())
    while True:
        for length in range(_SHORTEST, len(digest) + 1, 4):
            if digest[:length] not in text:
                return digest[:length]
        digest = hash_content(digest.encode())


def _quote(text: str) -> str:
    # The name of an actor is untrusted text, and a label is one line.
    if not text.isprintable():
        text = "".join(character if character.isprintable() else "?" for character in text)
    for character, escape in _ESCAPES.items():
        if character in text:
            text = text.replace(character, escape)
    return f'"{text}"'
