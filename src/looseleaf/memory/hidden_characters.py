"""Characters that nobody sees: refused in names, reported in the text of pages."""

from __future__ import annotations

import re
import unicodedata

# Characters that Unicode counts as letters, marks or symbols, and that show nothing.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_JOINERS = ("\u200c", "\u200d")
_EMOJI_STYLE = ("\ufe0e", "\ufe0f")
_SUSPECT = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]"
)
_FIRST_JOINED = "\u0590"  # no script before this one is written with joiners


def is_invisible(character: str) -> bool:
    """Return whether a character shows nothing, or changes how its neighbors are shown."""
    category = unicodedata.category(character)
    return (
        category in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
        or (category == "Zs" and character != " ")
        or character in _BLANK
        or "\ufe00" <= character <= "\ufe0f"
        or "\U000e0100" <= character <= "\U000e01ef"
    )


def find_invisible(text: str, *, allow_joiners: bool = False) -> str:
    """Name the first invisible character of a text, as U+200B, or "" if there is none.

    In text that people read, `allow_joiners` accepts the characters that join letters of some
    scripts or parts of an emoji, if they stand between two of them.
    """
    if text.isascii() and text.isprintable():
        return ""
    for place, character in enumerate(text):
        if is_invisible(character) and not (allow_joiners and _is_joint(text, place)):
            return f"U+{ord(character):04X}"
    return ""


def describe_hidden(text: str) -> str:
    """Return how many hidden characters a text has, and where the first is, or "" if it has none.

    Hidden are characters that show nothing or change the order in which others are shown. Line
    ends, tabs, spaces, joiners of letters or emoji, and characters for private use are not.
    """
    places = list_hidden_places(text)
    if not places:
        return ""
    first = places[0]
    amount = f"{len(places)} hidden characters" if len(places) > 1 else "a hidden character"
    line = text.count("\n", 0, first) + 1
    return f"{amount}, the first is U+{ord(text[first]):04X} in line {line}"


def list_hidden_places(text: str) -> list[int]:
    """Return the place of each hidden character of a text."""
    return [
        match.start() for match in _SUSPECT.finditer(text) if not _is_joint(text, match.start())
    ]


def build_hidden_warnings(filename: str, content: bytes) -> tuple[str, ...]:
    """Warn the writer of a page about its hidden characters."""
    description = describe_hidden(content.decode(errors="replace"))
    return (
        (f"{filename} has {description}. Take it out unless it is meant.",) if description else ()
    )


def _is_joint(text: str, place: int) -> bool:
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    if text[place] in _EMOJI_STYLE:
        return bool(before) and unicodedata.category(before) in ("So", "Sm", "Po", "Nd")
    return (
        text[place] in _JOINERS
        and before >= _FIRST_JOINED
        and after >= _FIRST_JOINED
        and not is_invisible(after)
        and (before in _EMOJI_STYLE or not is_invisible(before))
    )
