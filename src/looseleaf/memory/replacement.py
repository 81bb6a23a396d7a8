"""Replacements that lose most of a page by mistake: recognized, so that they can be refused."""

from __future__ import annotations

from looseleaf.errors import LossRefused
from looseleaf.memory.store import COMPOSE
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.memory.store import Change

SMALL_BYTES = 512  # a core page below this size may be replaced by any text
SHRINK = 10  # a replacement has at least a tenth of the bytes
_MEANT = ("clear", "restore", COMPOSE)  # operations that name what they lose
_LONGEST = 120  # characters of a line that can be a placeholder
_BRACKETS = "[](){}<>*_-/#!.…`~:;\"' \t"
# What models write in the place of text that they were asked to repeat, without signs and marks.
_ELISIONS = (
    "rest of file unchanged",
    "rest of the file unchanged",
    "rest of page unchanged",
    "rest of the page unchanged",
    "rest of content unchanged",
    "rest of the content unchanged",
    "rest of document unchanged",
    "rest of the document unchanged",
    "rest of section unchanged",
    "rest of the section unchanged",
    "rest unchanged",
    "the rest is unchanged",
    "rest is unchanged",
    "rest remains unchanged",
    "rest of file remains unchanged",
    "rest of the file remains unchanged",
    "rest of the file remains the same",
    "rest of the content remains unchanged",
    "rest of the content remains the same",
    "rest of file omitted",
    "rest of the file omitted",
    "rest omitted",
    "rest of content here",
    "rest of the content here",
    "rest of file here",
    "rest of the file here",
    "remaining content unchanged",
    "remaining content omitted",
    "remaining text unchanged",
    "remaining sections unchanged",
    "remainder unchanged",
    "remainder of file unchanged",
    "remainder of the file unchanged",
    "existing content unchanged",
    "existing content here",
    "existing content",
    "previous content unchanged",
    "previous content here",
    "content unchanged",
    "content omitted",
    "content omitted for brevity",
    "omitted for brevity",
    "truncated for brevity",
    "unchanged",
    "same as before",
    "no changes below",
    "no further changes",
)


@value
class Replacement:
    """A page before and after a change, and the text that takes the place of another one."""

    before: bytes
    after: bytes
    text: bytes
    is_core: bool


def refuse_loss(filename: str, replacement: Replacement, change: Change) -> None:
    """Raise `LossRefused` where a replacement is most likely not all of the text."""
    if change.operation in _MEANT:
        return
    before, after = replacement.before, replacement.after
    placeholder = find_placeholder(replacement.text)
    if placeholder and placeholder != find_placeholder(before):
        raise LossRefused(filename, f"the new text ends with the placeholder {placeholder!r}")
    if not replacement.is_core:
        return
    if not after:
        raise LossRefused(filename, f"the new text is empty, and the page has {len(before)} bytes")
    if len(before) >= SMALL_BYTES and len(after) * SHRINK < len(before):
        why = f"a core page would shrink from {len(before)} bytes to {len(after)}"
        raise LossRefused(filename, why)


def find_placeholder(text: bytes) -> str:
    """Give the last line of a text if it only stands for text that was left out; else ""."""
    line = text.rstrip()[-4 * _LONGEST :].rpartition(b"\n")[2].decode(errors="replace").strip()
    words = " ".join(line.strip(_BRACKETS).lower().split())
    if len(line) > _LONGEST or words not in _ELISIONS:
        return ""
    # A word or two may be a fact; between brackets or dots they stand for something else.
    is_marked = line[0] in "[(<{/.…" or line[-1] in "])>}…" or line.endswith("...")
    return line if is_marked or words.count(" ") > 1 else ""
