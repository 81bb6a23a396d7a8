"""Passages: the lines of a page that answer a question, with the lines beside them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_CHARACTERS = 900  # of a passage
_LINE = 280  # characters of one line; the rest of a longer one is left out
_CUT = "…"


def passage(content: bytes, best: Sequence[int], stems: Sequence[str]) -> str:
    """Give the best lines of a page, the best first in the choice and all in the page's order.

    Each line brings the line before and after it, as long as there is room: in a conversation the
    answer often stands beside the words of the question.
    """
    lines = content.decode("utf-8", "replace").split("\n")
    chosen: dict[int, str] = {}
    room = MOST_CHARACTERS
    for number in _by_worth(lines, best):
        text = _cut(lines[number].strip(), stems)
        if len(text) + 1 <= room:
            chosen[number] = text
            room -= len(text) + 1
    return _joined(lines, chosen)


def _by_worth(lines: list[str], best: Sequence[int]) -> list[int]:
    """Order the numbers of lines: the best and their neighbours, else the page's beginning."""
    here = [number for number in best if number < len(lines)]
    if not here:
        return [number for number in range(len(lines)) if _tells(lines, number)][:3]
    order = dict.fromkeys(here)
    for number in here:
        for step in (1, -1):
            beside = _beside(lines, number, step)
            if beside is not None:
                order.setdefault(beside)
    return [number for number in order if lines[number].strip()]


def _beside(lines: list[str], number: int, step: int) -> int | None:
    """Give the next line that tells something; None at the end of the page."""
    number += step
    while 0 <= number < len(lines):
        if _tells(lines, number):
            return number
        number += step
    return None


def _tells(lines: list[str], number: int) -> bool:
    """Say whether a line is neither blank nor the page's title."""
    line = lines[number]
    return bool(line.strip()) and not (number == 0 and line.startswith("# "))


def _cut(line: str, stems: Sequence[str]) -> str:
    """Shorten a long line to the part that holds the first word of the question."""
    if len(line) <= _LINE:
        return line
    folded = line.casefold()
    places = [at for stem in stems if (at := folded.find(stem[:5])) >= 0]
    start = max(0, min(places, default=0) - _LINE // 4)
    end = start + _LINE - 2
    return (_CUT if start else "") + line[start:end].strip() + (_CUT if end < len(line) else "")


def _joined(lines: list[str], chosen: dict[int, str]) -> str:
    """Put the lines in the page's order; a gap between them is shown."""
    shown: list[str] = []
    last: int | None = None
    for number in sorted(chosen):
        if last is not None and any(line.strip() for line in lines[last + 1 : number]):
            shown.append(_CUT)
        shown.append(chosen[number])
        last = number
    return "\n".join(shown)
