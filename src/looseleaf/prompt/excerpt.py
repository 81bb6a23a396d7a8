"""A part of a page: whole sections as long as there is room, then whole lines of one more.

A paragraph that is one long line is cut between words if most of the room would stay empty.
"""

from __future__ import annotations

import re
from itertools import pairwise

from looseleaf.memory.sections import list_sections
from looseleaf.prompt.assembly import Piece
from looseleaf.prompt.blocks import format_block
from looseleaf.prompt.directives.outputs import Text
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST_FENCE = 2 * 64
_CUT = " […]"
_LONGEST_WORD = 40  # not every language has spaces
_LEAST_USE = 4  # a quarter of the room: a long line is cut if more stays empty
_LINES = re.compile(r"[^\n]*\n|[^\n]+$")


@value
class Excerpt:
    """A page of which a part is given, and how much that is."""

    piece: Piece
    extent: str


def cut_page(piece: Piece, room: int, count: Callable[[str], int]) -> Excerpt | None:
    """Return as much of a page as fits, in the order of the page, or None if not a line does."""
    item = piece.item
    if not isinstance(item, Text) or item.source is None:
        return None
    text = piece.text.partition("\n")[2].rpartition("\n")[0]
    total = _count_lines(text)
    longest = format_block(item.source, "", part=_format_extent(total, total))
    part = _choose_part(text, room - count(longest) - _LONGEST_FENCE, count)
    if not part.strip():
        return None
    extent = _format_extent(_count_lines(part), total)
    block_text = format_block(item.source, part, part=extent)
    return Excerpt(Piece(piece.directive, Text(block_text, item.source), block_text), extent)


def _format_extent(lines: int, total: int) -> str:
    return f"{lines:,} of {total:,} lines"


def _count_lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n"))


def _choose_part(text: str, room: int, count: Callable[[str], int]) -> str:
    starts = [0, *(section.start for section in list_sections(text)), len(text)]
    segments = [text[start:end] for start, end in pairwise(starts)]
    parts: dict[int, str] = {}
    most_empty = room // _LEAST_USE
    for place, segment in enumerate(segments):
        size = count(segment)
        if size <= room:
            parts[place] = segment
            room -= size
    first = next((place for place in range(len(segments)) if place not in parts), None)
    if first is not None:
        parts[first] = _take_lines(segments[first], room, count, most_empty)
    return "".join(parts[place] for place in sorted(parts))


def _take_lines(segment: str, room: int, count: Callable[[str], int], most_empty: int) -> str:
    """Return the first lines of a section, as many as fit."""
    lines = []
    for line in _LINES.findall(segment):
        size = count(line)
        if size > room:
            if room > most_empty:
                lines.append(_take_words(line, room, count))
            break
        lines.append(line)
        room -= size
    return "".join(lines)


def _take_words(line: str, room: int, count: Callable[[str], int]) -> str:
    """Return the first words of a line, as many as fit, with a sign that there are more."""
    room -= count(_CUT + "\n")
    # A count is never less than the number of characters.
    low, high = 0, min(len(line), max(room, 0))
    while low < high:
        middle = (low + high + 1) // 2
        if count(line[:middle]) <= room:
            low = middle
        else:
            high = middle - 1
    space = line.rfind(" ", max(low - _LONGEST_WORD, 0), low)
    words = line[: space if space > 0 else low]
    return f"{words}{_CUT}\n" if words.strip() else ""
