"""Passages: the lines of a page that answer a question, with the lines beside them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_CHARACTERS = 900  # of a passage
_LINE = 280  # characters of one line; the rest of a longer one is left out
_CUT = "…"
STEM = 5  # letters of a question's word that a line must contain


def build_passage(content: bytes, best: Sequence[int], stems: Sequence[str]) -> str:
    """Return the best lines of a page that fit, in the order of the page.

    Each line brings the line before and after it, as long as there is room: in a conversation the
    answer often stands beside the words of the question.
    """
    lines = content.decode("utf-8", "replace").split("\n")
    texts: dict[int, str] = {}
    room = MOST_CHARACTERS
    for number in _order_by_worth(lines, best):
        text = lines[number].strip()
        if len(text) > _LINE:
            text = _shorten(text, stems)
        if len(text) < room:
            texts[number] = text
            room -= len(text) + 1
    return _join_lines(lines, texts)


def _order_by_worth(lines: list[str], best: Sequence[int]) -> list[int]:
    """Order the numbers of lines: the best and their neighbors, else the page's beginning."""
    numbers = [number for number in best if number < len(lines)]
    first = 1 if lines[0].startswith("# ") else 0  # the title of a page answers nothing
    if not numbers:
        return [number for number in range(first, len(lines)) if lines[number].strip()][:3]
    order = dict.fromkeys(numbers)
    for number in numbers:
        for after in range(number + 1, len(lines)):
            if lines[after].strip():
                order.setdefault(after)
                break
        for before in range(number - 1, first - 1, -1):
            if lines[before].strip():
                order.setdefault(before)
                break
    return [number for number in order if lines[number].strip()]


def _shorten(line: str, stems: Sequence[str]) -> str:
    """Shorten a long line to the part that holds the first word of the question."""
    folded_line = line.casefold()
    places = [at for stem in stems if (at := folded_line.find(stem[:STEM])) >= 0]
    start = max(0, min(places, default=0) - _LINE // 4)
    end = start + _LINE - 2
    return (_CUT if start else "") + line[start:end].strip() + (_CUT if end < len(line) else "")


def _join_lines(lines: list[str], texts: dict[int, str]) -> str:
    """Arrange the lines in the page's order; a gap between them is shown."""
    parts: list[str] = []
    last: int | None = None
    for number in sorted(texts):
        if last is not None and any(map(str.strip, lines[last + 1 : number])):
            parts.append(_CUT)
        parts.append(texts[number])
        last = number
    return "\n".join(parts)
