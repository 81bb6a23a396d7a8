"""Escapes for characters that a terminal would obey or hide."""

from __future__ import annotations

_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
# Visible format characters: the number and verse signs of some scripts.
_VISIBLE = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd")
_JOINERS = ("\u200c", "\u200d")
_FIRST_JOINED = "\u0590"  # scripts before this one use no joiners


def escape(text: str) -> str:
    """Escape characters that a terminal would obey or hide; line ends and tabs stay."""
    hidden_signs = {sign for sign in set(text) if is_hidden(sign)}
    if not hidden_signs:
        return text
    return "".join(
        [
            _escape_sign(sign) if sign in hidden_signs and not _has_normal_use(text, at) else sign
            for at, sign in enumerate(text)
        ]
    )


def escape_line(text: str) -> str:
    """Escape text into one line, without characters that a terminal would obey or hide."""
    for sign, code in (("\r", "\\r"), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(sign, code)
    return escape(text)


def is_hidden(sign: str) -> bool:
    """Say whether a terminal would obey or hide this character instead of showing it."""
    if sign.isprintable() or sign in "\n\t" or sign in _VISIBLE:
        return False
    import unicodedata

    return unicodedata.category(sign) in _HIDDEN


def _has_normal_use(text: str, at: int) -> bool:
    """Say whether a character has its normal use: to end a line, or to join scripts and emoji."""
    if text[at] == "\r":
        return text[at + 1 : at + 2] == "\n"
    neighbors = text[at - 1 : at] + text[at + 1 : at + 2]
    return text[at] in _JOINERS and len(neighbors) == 2 and all(map(_is_joinable, neighbors))


def _is_joinable(sign: str) -> bool:
    return sign >= _FIRST_JOINED and not is_hidden(sign)


def _escape_sign(character: str) -> str:
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x1_0000 else f"\\U{number:08x}"
