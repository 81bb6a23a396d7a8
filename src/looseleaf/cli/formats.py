"""Tables and color for people, and JSON for programs."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from looseleaf.cli.output import (
    count_columns,
    encode_document,
    escape_line,
    on_terminal,
    print_text,
    show,
)
from looseleaf.memory.provenance import PERSON
from looseleaf.settings import read_variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_GAP = "  "
_MIN_COLUMNS = 12  # a shortened cell has at least so many
_CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "match": "1;33"}
_RESET = "\x1b[0m"


def print_document(document: Mapping[str, object], *, indent: int | None = 2) -> None:
    """Print one JSON document; without an indent, on one line."""
    show(encode_document(document, indent=indent).encode(), exact=True)


def print_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    shrink: str = "",
    right: Sequence[str] = (),
) -> None:
    """Print aligned columns, numbers to the right; a column may shrink to fit the terminal."""
    table = list(rows)
    cells = [[escape_line(str(cell)) for cell in row] for row in (headers, *table)]
    to_right = [
        name in right or all(isinstance(row[i], int | float) for row in table)
        for i, name in enumerate(headers)
    ]
    widths = [max(display_width(row[i]) for row in cells) for i in range(len(headers))]
    if shrink:
        index = list(headers).index(shrink)
        space = count_columns() - sum(widths) - len(_GAP) * (len(widths) - 1) + widths[index]
        widths[index] = min(widths[index], max(space, _MIN_COLUMNS))
    for number, row in enumerate(cells):
        padded_cells = [_fit(cell, widths[i], right=to_right[i]) for i, cell in enumerate(row)]
        line = _GAP.join(padded_cells).rstrip()
        print_text((line if number else paint(line, "bold")) + "\n")


def display_width(text: str) -> int:
    """Return the number of columns of a text on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_sign_width(sign) for sign in text)


def _sign_width(sign: str) -> int:
    if unicodedata.combining(sign) or unicodedata.category(sign) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in ("W", "F") else 1


def _fit(cell: str, width: int, *, right: bool) -> str:
    used_columns = display_width(cell)
    if used_columns > width:
        cell = _cut(cell, width - 1) + "…"
        used_columns = display_width(cell)
    space = " " * (width - used_columns)
    return space + cell if right else cell + space


def _cut(cell: str, width: int) -> str:
    used_columns = 0
    for index, sign in enumerate(cell):
        used_columns += _sign_width(sign)
        if used_columns > width:
            return cell[:index]
    return cell


def format_actor(name: str, kind: str) -> str:
    """Write the name of an actor, with the kind if it is not a person: ada (agent)."""
    return name if kind in ("", PERSON) else f"{name} ({kind})".lstrip()


def format_count(number: int, noun: str) -> str:
    """Write a number with its noun: 1 page, 2 pages, 2 matches."""
    return f"{number:,} {noun if number == 1 else noun + ('es' if noun.endswith('ch') else 's')}"


def use_color() -> bool:
    """Return whether to use colour: on a terminal that supports it, unless NO_COLOR is set."""
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
