"""Colour on a terminal: headings, states and the text that a search has matched."""

from __future__ import annotations

from looseleaf.cli.output import on_terminal
from looseleaf.settings import variable

_CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "match": "1;33"}
_RESET = "\x1b[0m"


def use_color() -> bool:
    """Say whether colour is wanted: on a terminal that knows it, unless NO_COLOR is set."""
    return on_terminal() and not variable("NO_COLOR") and variable("TERM") != "dumb"


def paint(text: str, color: str) -> str:
    """Give a text in a colour; as it is where no colour is wanted. The text must be escaped."""
    return f"\x1b[{_CODES[color]}m{text}{_RESET}" if text and use_color() else text


def highlight(text: str, query: str) -> str:
    """Mark every place where a query stands in a text, whatever the case. The text is escaped."""
    sought = query.lower()
    lowered = text.lower()
    # A few characters change their length in lower case; then no place is certain.
    if not sought or len(lowered) != len(text) or not use_color():
        return text
    parts, end = [], 0
    while (at := lowered.find(sought, end)) >= 0:
        parts += [text[end:at], paint(text[at : at + len(sought)], "match")]
        end = at + len(sought)
    return "".join([*parts, text[end:]])
