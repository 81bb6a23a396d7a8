"""Two versions of a page compared line by line, and changed lines word by word."""

from __future__ import annotations

import re

from looseleaf.memory.text.line_diff import diff_ranges
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SAME, ADDED, REMOVED, GAP = "same", "added", "removed", "gap"
MOST_LINES = 5000  # of a comparison that is shown; the rest is left out
_CONTEXT = 3
_MOST_CHARACTERS = 5000  # of a line that is compared word by word
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


@value
class Segment:
    """A part of a line: the same in both versions, added or removed."""

    kind: str
    text: str


@value
class DiffLine:
    """A line of a comparison; a gap stands for `count` lines that are the same."""

    kind: str
    segments: tuple[Segment, ...]
    old: int = 0  # its number in the old version, from 1, or 0 if it is not there
    new: int = 0
    count: int = 1


@value
class WordDiff:
    """A comparison, and how many lines were added and removed."""

    lines: tuple[DiffLine, ...]
    added: int
    removed: int
    is_truncated: bool


def diff_words(old: str, new: str, *, context: int = _CONTEXT) -> WordDiff:
    """Compare two texts; lines far from any change are left out."""
    before, after = split_lines(old), split_lines(new)
    ranges = diff_ranges(before, after)
    lines: list[DiffLine] = []
    end = (0, 0)
    for number, (a, b, c, d) in enumerate(ranges):
        lines += _build_unchanged(before[end[0] : a], end, context, is_first=number == 0)
        lines += _build_changed(before[a:b], after[c:d], (a, c))
        end = b, d
        if len(lines) > MOST_LINES:
            break
    else:
        lines += _build_unchanged(before[end[0] :], end, context, is_first=not ranges, is_last=True)
    return WordDiff(
        tuple(lines[:MOST_LINES]),
        sum(d - c for _, _, c, d in ranges),
        sum(b - a for a, b, _, _ in ranges),
        len(lines) > MOST_LINES,
    )


def split_lines(text: str) -> list[str]:
    """Return the lines of a text; a final newline ends a line and begins none."""
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else lines


def _build_unchanged(
    lines: Sequence[str],
    start: tuple[int, int],
    context: int,
    *,
    is_first: bool,
    is_last: bool = False,
) -> Iterator[DiffLine]:
    """Yield the lines next to a change, and one gap in the place of the others."""
    head = 0 if is_first else context
    tail = 0 if is_last else context
    gap_size = len(lines) - head - tail
    for place, line in enumerate(lines):
        if gap_size > 1 and head <= place < len(lines) - tail:
            if place == head:
                yield DiffLine(GAP, (), count=gap_size)
            continue
        numbers = start[0] + place + 1, start[1] + place + 1
        yield DiffLine(SAME, (Segment(SAME, line),), *numbers)


def _build_changed(
    old: Sequence[str], new: Sequence[str], start: tuple[int, int]
) -> list[DiffLine]:
    removed_lines, added_lines = [], []
    for place in range(max(len(old), len(new))):
        before = old[place] if place < len(old) else None
        after = new[place] if place < len(new) else None
        old_segments, new_segments = _build_segments(before or "", after or "")
        if before is not None:
            removed_lines.append(DiffLine(REMOVED, old_segments, old=start[0] + place + 1))
        if after is not None:
            added_lines.append(DiffLine(ADDED, new_segments, new=start[1] + place + 1))
    return removed_lines + added_lines


def _build_segments(old: str, new: str) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
    """Mark in two lines which words differ; lines that have little in common differ as a whole."""
    whole_lines = (Segment(REMOVED, old),), (Segment(ADDED, new),)
    if not old or not new or len(old) + len(new) > _MOST_CHARACTERS:
        return whole_lines
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    ranges = diff_ranges(before, after)
    common_count = len(before) - sum(b - a for a, b, _, _ in ranges)
    if common_count * 3 < max(len(before), len(after)):
        return whole_lines
    old_segments = _mark_words(before, [(a, b) for a, b, _, _ in ranges], REMOVED)
    new_segments = _mark_words(after, [(c, d) for _, _, c, d in ranges], ADDED)
    return old_segments, new_segments


def _mark_words(words: list[str], spans: list[tuple[int, int]], kind: str) -> tuple[Segment, ...]:
    segments, end = [], 0
    for start, stop in [*spans, (len(words), len(words))]:
        if start > end:
            segments.append(Segment(SAME, "".join(words[end:start])))
        if stop > start:
            segments.append(Segment(kind, "".join(words[start:stop])))
        end = stop
    return tuple(segments)
