"""The two parts of a model's answer, split at its markers, even if the page has markers, too."""

from __future__ import annotations

from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PERSISTENT = "===PERSISTENT==="
ARCHIVED = "===ARCHIVED==="
_DECORATION = "#*_`> \t\r"


@value
class AnswerParts:
    """The part that is to stay and the part that is to go; None for a part that is missing."""

    persistent: str | None
    archive: str | None


NO_PARTS = AnswerParts(None, None)


def unescape_newlines(text: str) -> str:
    """Unescape the line ends of a text that has no other line end; other texts stay as they are."""
    return text if "\n" in text.strip() or "\\n" not in text else text.replace("\\n", "\n")


def parse_answer(text: str, page: str = "") -> AnswerParts | None:
    """Split an answer about a page at its markers, which may come in either order.

    The first marker is the model's. A later marker between the same lines as in the page is a line
    of the page that the model copied, and does not count. None if more than one marker of a
    kind is left, since the parts are then ambiguous.
    """
    lines = text.split("\n")
    starts, middles = _find_markers(lines, PERSISTENT), _find_markers(lines, ARCHIVED)
    markers = sorted(starts + middles)
    if not markers:
        return NO_PARTS
    page_contexts = _collect_contexts(page.split("\n")) if page else frozenset()
    markers_of_model = [markers[0]]
    markers_of_model += [
        number for number in markers[1:] if _context_of(lines, number) not in page_contexts
    ]
    start = [number for number in markers_of_model if number in starts]
    middle = [number for number in markers_of_model if number in middles]
    if len(start) > 1 or len(middle) > 1:
        return None
    return _build_parts(lines, start[0] if start else None, middle[0] if middle else None)


def _collect_contexts(page: Sequence[str]) -> frozenset[tuple[str, str, str]]:
    """Collect the markers of a page, each with the lines around it."""
    numbers = _find_markers(page, PERSISTENT) + _find_markers(page, ARCHIVED)
    return frozenset(_context_of(page, number) for number in numbers)


def _context_of(lines: Sequence[str], number: int) -> tuple[str, str, str]:
    above = next((line for line in reversed(lines[:number]) if line.strip()), "")
    below = next((line for line in lines[number + 1 :] if line.strip()), "")
    return above.rstrip(), lines[number].rstrip(), below.rstrip()


def count_markers(text: str) -> tuple[int, int]:
    """Count the lines of a text that are markers: of the persistent part, and of the other."""
    lines = text.split("\n")
    return len(_find_markers(lines, PERSISTENT)), len(_find_markers(lines, ARCHIVED))


def _find_markers(lines: Sequence[str], marker: str) -> list[int]:
    return [
        number
        for number, line in enumerate(lines)
        if marker in line and line.strip(_DECORATION) == marker
    ]


def _build_parts(lines: Sequence[str], start: int | None, middle: int | None) -> AnswerParts:
    if start is None:
        return AnswerParts(None, None if middle is None else _join_lines(lines[middle + 1 :]))
    if middle is None:
        return AnswerParts(_join_lines(lines[start + 1 :]), None)
    if start < middle:
        return AnswerParts(_join_lines(lines[start + 1 : middle]), _join_lines(lines[middle + 1 :]))
    return AnswerParts(_join_lines(lines[start + 1 :]), _join_lines(lines[middle + 1 : start]))


def _join_lines(lines: Sequence[str]) -> str:
    """Join lines without the blank ones around them; the indentation of the first line stays."""
    return "\n".join(lines).strip("\r\n").rstrip()
