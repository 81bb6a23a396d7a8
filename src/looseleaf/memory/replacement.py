"""Changes that lose most of a page by mistake: recognized, so that they can be refused."""

from __future__ import annotations

import re

from looseleaf.errors.pages import LossRefused
from looseleaf.memory.store import COMPOSE
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.memory.store import Change

SMALL_BYTES = 512  # a core page below this size may be replaced by any text
SHRINK = 10  # a replacement has at least a tenth of the bytes
# Operations that name what they lose: a version, or the exact text.
_MEANT = ("clear", "restore", "replace", "remove", COMPOSE)
_ADDING = ("append", "append to section")
_DELETING = "delete section"
# The way out of a refusal; every operation that is held to the rule takes the argument.
REPEAT = "If this is meant, repeat it with allow_shrink (--allow-shrink at the command line)."
REPEAT_WHOLE = f"Send the whole text. {REPEAT}"
_LONGEST = 120  # characters of a line that can be a placeholder
# Words of the placeholders that models write instead of a text that they should repeat: for the
# part, for its state, and fillers. A line with any other word is no placeholder.
_PARTS = frozenset(
    {
        "else",
        "everything",
        "existing",
        "original",
        "other",
        "previous",
        "remainder",
        "remaining",
        "rest",
    }
)
_STATES = frozenset(
    {
        "abbreviated",
        "elided",
        "omitted",
        "preserved",
        "same",
        "skipped",
        "snipped",
        "truncated",
        "unchanged",
        "unmodified",
        "untouched",
    }
)
_FILLERS = frozenset(
    {
        "a",
        "above",
        "all",
        "and",
        "any",
        "are",
        "as",
        "before",
        "below",
        "brevity",
        "by",
        "changed",
        "changes",
        "code",
        "content",
        "contents",
        "continue",
        "continues",
        "current",
        "document",
        "entries",
        "entry",
        "file",
        "for",
        "from",
        "further",
        "goes",
        "here",
        "in",
        "is",
        "it",
        "items",
        "its",
        "keep",
        "kept",
        "left",
        "line",
        "lines",
        "memory",
        "more",
        "no",
        "not",
        "note",
        "notes",
        "of",
        "page",
        "part",
        "parts",
        "remain",
        "remains",
        "section",
        "sections",
        "stay",
        "stays",
        "text",
        "that",
        "the",
        "these",
        "this",
        "to",
        "was",
        "were",
        "with",
        "your",
    }
)
_VOCABULARY = _PARTS | _STATES | _FILLERS
_PHRASES = ("no changes below", "no further changes", "no more changes")
_WORD = re.compile(r"[^\W\d_]+")
_SIGNS = "[](){}<>*_-/#!.…`~:;,\"'% \t0123456789"
_OPENINGS = ("[", "(", "<", "{", "/", "..", "…", "--", "%")
_ENDINGS = ("]", ")", ">", "}", "…", "...", "*/")


@value
class Replacement:
    """A page before and after a change, and the new text, if the change was given one whole."""

    before: bytes
    after: bytes
    text: bytes | None
    is_core: bool


def refuse_loss(filename: str, replacement: Replacement, change: Change) -> None:
    """Raise `LossRefused` if a new text is most likely not whole, or a page loses most of itself.

    An empty text is no mistake of that kind: it clears the page, as the operation of its own does.
    """
    if change.operation in _MEANT or (replacement.text == b"" and not replacement.after):
        return
    before, after = replacement.before, replacement.after
    placeholder = find_placeholder(replacement.text or b"")
    if placeholder and placeholder != find_placeholder(before):
        reason = f"the new text ends with the placeholder {placeholder!r}"
        adds = change.operation in _ADDING
        raise LossRefused(filename, reason, "Leave that line out." if adds else REPEAT_WHOLE)
    if replacement.is_core and len(before) >= SMALL_BYTES and len(after) * SHRINK < len(before):
        reason = f"a core page would shrink from {len(before)} bytes to {len(after)}"
        raise LossRefused(
            filename, reason, REPEAT if change.operation == _DELETING else REPEAT_WHOLE
        )


def find_placeholder(text: bytes) -> str:
    """Return the last line of a text if it only stands for text that was left out; else ""."""
    line = text.rstrip()[-4 * _LONGEST :].rpartition(b"\n")[2].decode(errors="replace").strip()
    if not line or len(line) > _LONGEST:
        return ""
    first_word = _WORD.search(line)
    if first_word is None or first_word[0].lower() not in _VOCABULARY:
        return ""  # most lines
    words = _WORD.findall(line.lower())
    if not _VOCABULARY.issuperset(words) or _has_other_signs(line):
        return ""
    names_state = not _STATES.isdisjoint(words) or " ".join(words) in _PHRASES
    # One or two words may be a fact; between brackets or dots they are a placeholder.
    if line.startswith(_OPENINGS) or line.endswith(_ENDINGS):
        return line if names_state or not _PARTS.isdisjoint(words) else ""
    return line if names_state and len(words) > 2 else ""


def _has_other_signs(line: str) -> bool:
    return bool(_WORD.sub("", line).strip(_SIGNS))
