"""Colour on a terminal: headings, states and the text that a search has matched."""

from __future__ import annotations

from looseleaf.cli.output import on_terminal
from looseleaf.settings import read_variable

_CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "match": "1;33"}
_RESET = "\x1b[0m"


def use_color() -> bool:
    """Say whether to use colour: on a terminal that supports it, unless NO_COLOR is set."""
    return on_terminal() and not read_variable("NO_COLOR") and read_variable("TERM") != "dumb"


def paint(text: str, color: str) -> str:
    """Return a text in a colour, or unchanged without colour. The text must be escaped."""
    return f"\x1b[{_CODES[color]}m{text}{_RESET}" if text and use_color() else text


def highlight(text: str, query: str) -> str:
    """Mark every occurrence of a query in a text, ignoring case. The text must be escaped."""
    needle = query.lower()
    lower_text = text.lower()
    # A few characters change their length in lower case; then positions are uncertain.
    if not needle or len(lower_text) != len(text) or not use_color():
        return text
    parts, end = [], 0
    while (position := lower_text.find(needle, end)) >= 0:
        parts += [text[end:position], paint(text[position : position + len(needle)], "match")]
        end = position + len(needle)
    return "".join([*parts, text[end:]])
