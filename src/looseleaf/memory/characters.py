"""Characters that nobody sees, which have no place in a name: two names would look the same."""

from __future__ import annotations

import unicodedata

# Letters, marks and signs that Unicode counts as such, and that show nothing of their own.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_JOINERS = ("\u200c", "\u200d")
_EMOJI_STYLE = ("\ufe0e", "\ufe0f")
_FIRST_JOINED = "\u0590"  # no script before this one is written with joiners


def is_invisible(character: str) -> bool:
    """Say whether a character shows nothing, or changes how those around it are shown."""
    category = unicodedata.category(character)
    return (
        category in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
        or (category == "Zs" and character != " ")
        or character in _BLANK
        or "\ufe00" <= character <= "\ufe0f"
        or "\U000e0100" <= character <= "\U000e01ef"
    )


def find_invisible(text: str, *, joined: bool = False) -> str:
    """Name the first invisible character of a text, as U+200B; "" where there is none.

    In text that people read, `joined` allows what joins letters of some scripts and parts of an
    emoji, where it stands between two of them.
    """
    if text.isascii() and text.isprintable():
        return ""
    for place, character in enumerate(text):
        if is_invisible(character) and not (joined and _is_joint(text, place)):
            return f"U+{ord(character):04X}"
    return ""


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
