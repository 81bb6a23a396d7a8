"""A page in a prompt: a labelled block whose end no page can forge."""

from __future__ import annotations

import re

from looseleaf.memory.store import content_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.prompt.outputs import Source

_SHORTEST = 12
# At the beginning of a line, also where the lines are quoted, indented or a list.
_EDGE = re.compile(
    r'^[\s>*\-\ufeff]*(<page file="[^"\n]*" .*|</page )fence="[0-9a-f]{12,}">\s*$', re.MULTILINE
)
_LINE_ENDS = re.compile("\r\n?|[\v\f\x85\u2028\u2029]")
_ESCAPES = {"&": "&amp;", '"': "&quot;", "<": "&lt;", ">": "&gt;"}


def block(source: Source, text: str, *, hash: str = "", part: str = "") -> str:  # noqa: A002 - as in the store
    """Wrap a page's text, byte for byte, between two lines that carry the same fence.

    `part` says how much of the page the text is, where it is not all of it.
    """
    mark = fence(text, hash)
    about = f"file={_quoted(source.file)} layer={_quoted(source.layer)}"
    if source.changed:
        about += f" changed={_quoted(source.changed)}"
    if source.by:
        about += f" by={_quoted(source.by)}"
    if part:
        about += f" part={_quoted(part)}"
    size = len(text.encode())
    return f'<page {about} bytes="{size}" fence="{mark}">\n{text}\n</page fence="{mark}">'


def holds_block(text: str) -> bool:
    """Say whether a text holds a page as a prompt shows it, or an edge of one."""
    return "fence=" in text and _EDGE.search(_LINE_ENDS.sub("\n", text)) is not None


def fence(text: str, hash: str = "") -> str:  # noqa: A002 - as in the store
    """Give a mark that does not occur in a text and stays the same while the text does.

    It begins the hash of the text. Whoever writes a page can search for a text that holds the
    beginning of its own hash, so the mark is lengthened until it does not occur.
    """
    digest = hash or content_hash(text.encode())
    while True:
        for length in range(_SHORTEST, len(digest) + 1, 4):
            if digest[:length] not in text:
                return digest[:length]
        digest = content_hash(digest.encode())


def _quoted(text: str) -> str:
    # Actors' names are anyone's text, and a label is one line.
    shown = "".join(_ESCAPES.get(character, character) for character in text)
    return '"' + "".join(one if one.isprintable() else "?" for one in shown) + '"'
