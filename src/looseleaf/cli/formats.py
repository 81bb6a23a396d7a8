"""Tables for people and JSON for programs."""

from __future__ import annotations

import json
import unicodedata
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from looseleaf.cli.colors import paint
from looseleaf.cli.output import columns, escaped_line, hides, print_text, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from looseleaf.errors import LooseleafError

_GAP = "  "
_KEYS = {"filename": "file"}  # as every other document calls it
_LEAST = 12  # columns that a shortened cell keeps


def print_document(document: Mapping[str, object], *, indent: int | None = 2) -> None:
    """Print one JSON document; without an indent, on one line."""
    show(document_text(document, indent=indent).encode(), exact=True)


def error_text(message: str, error: LooseleafError | None) -> str:
    """Write an error as one JSON document: its code, its message and what it knows besides."""
    known = vars(error) if error else {}
    fields = {_KEYS.get(name, name): _plain(one) for name, one in known.items()}
    code = error.code if error else "usage"
    return document_text({"error": {"code": code, "message": message, **fields}})


def document_text(document: Mapping[str, object], *, indent: int | None = 2) -> str:
    """Write a document as JSON."""
    text = json.dumps(document, ensure_ascii=False, indent=indent) + "\n"
    # The same document for a program, and nothing in it that a terminal would obey.
    for sign in filter(hides, set(text)):
        units = sign.encode("utf-16-be", "surrogatepass").hex()
        text = text.replace(
            sign, "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
        )
    return text


def _plain(known: object) -> object:
    if isinstance(known, tuple):
        return [_plain(one) for one in known]
    return known if isinstance(known, str | int | float | None) else str(known)


def print_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    shrink: str = "",
    right: Sequence[str] = (),
) -> None:
    """Print aligned columns, numbers to the right; a column may shrink to fit the terminal."""
    listed = list(rows)
    cells = [[escaped_line(str(cell)) for cell in row] for row in (headers, *listed)]
    to_right = [
        name in right or all(isinstance(row[i], int | float) for row in listed)
        for i, name in enumerate(headers)
    ]
    widths = [max(display_width(row[i]) for row in cells) for i in range(len(headers))]
    if shrink:
        at = list(headers).index(shrink)
        room = columns() - sum(widths) - len(_GAP) * (len(widths) - 1) + widths[at]
        widths[at] = min(widths[at], max(room, _LEAST))
    for number, row in enumerate(cells):
        fitted = [_fit(cell, widths[i], right=to_right[i]) for i, cell in enumerate(row)]
        line = _GAP.join(fitted).rstrip()
        print_text((line if number else paint(line, "bold")) + "\n")


def display_width(text: str) -> int:
    """Count the columns a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_sign_width(sign) for sign in text)


def _sign_width(sign: str) -> int:
    if unicodedata.combining(sign) or unicodedata.category(sign) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in ("W", "F") else 1


def _fit(cell: str, width: int, *, right: bool) -> str:
    taken = display_width(cell)
    if taken > width:
        cell = _cut(cell, width - 1) + "…"
        taken = display_width(cell)
    space = " " * (width - taken)
    return space + cell if right else cell + space


def _cut(cell: str, width: int) -> str:
    taken = 0
    for at, sign in enumerate(cell):
        taken += _sign_width(sign)
        if taken > width:
            return cell[:at]
    return cell


def iso(seconds: float) -> str:
    """Write a time for programs: UTC, to the microsecond, so that it can be asked for again."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def minute(seconds: float) -> str:
    """Write a time for people: UTC, to the minute."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def counted(number: int, noun: str) -> str:
    """Write a number with its noun: 1 page, 2 pages, 2 matches."""
    return f"{number:,} {noun if number == 1 else noun + ('es' if noun.endswith('ch') else 's')}"
