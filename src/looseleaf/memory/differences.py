"""Differences of two texts by line, and of changed lines by word, at a bounded cost."""

from __future__ import annotations

import re
from math import isqrt

from looseleaf.memory.deadline import check_deadline
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


# Line differences of two texts, at a bounded cost, as a unified diff.
# The shortest edit script is searched for with the algorithm of Myers, for a limited number of
# steps. A part that would cost more is compared by the lines that occur once in both texts, and
# the lines between them count as replaced: the diff is still correct, only coarser, and
# `is_coarse` says so.


MOST_STEPS = 200_000  # about a tenth of a second
MOST_CHARACTERS = 1_000_000  # of a diff; the rest is left out
_CONTEXT = 3

# Half-open ranges of lines, [old start, old end) and [new start, new end), that differ.
Range = tuple[int, int, int, int]
# The place of a range in the old and in the new text, and the lines that are new there.
Change = tuple[int, int, int, "Sequence[str]"]


@value
class LineDiff:
    """A unified diff; `is_coarse`: not the shortest one; `is_truncated`: not all of it."""

    text: str
    is_coarse: bool
    is_truncated: bool


def diff_lines(old: Sequence[str], new: Sequence[str], names: tuple[str, str]) -> LineDiff:
    """Compare two texts line by line."""
    search = _Search(old, new)
    ranges = _merge_ranges(search.compare(0, len(old), 0, len(new)))
    changes = [(a, b, c, new[c:d]) for a, b, c, d in ranges]
    text, is_truncated = _join_unified(old, changes, names)
    return LineDiff(text, search.is_coarse, is_truncated)


def diff_edit(
    old: Sequence[str], edits: Iterable[tuple[int, int, Sequence[str]]], names: tuple[str, str]
) -> str:
    """Return the unified diff of replaced lines, at the cost of these lines and not of the text.

    Each edit is the half-open range of the lines that it replaces, and the new lines.
    """
    changes: list[Change] = []
    shift = 0
    for start, end, lines in sorted(edits, key=lambda edit: edit[:2]):
        a, b, low, high = start, end, 0, len(lines)
        while a < b and low < high and old[a] == lines[low]:
            a, low = a + 1, low + 1
        while a < b and low < high and old[b - 1] == lines[high - 1]:
            b, high = b - 1, high - 1
        if a < b or low < high:
            changes.append((a, b, a + shift, lines[low:high]))
        shift += high - low - (b - a)
    return _join_unified(old, changes, names)[0]


def count_common_start(first: bytes, second: bytes) -> int:
    """Count the bytes two strings share at their start, by halving: each step is one memcmp."""
    low, high = 0, min(len(first), len(second))
    if first[:high] == second[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle
    return low


def count_common_end(first: bytes, second: bytes) -> int:
    """Count the bytes two strings share at their end, in the same way."""
    low, high = 0, min(len(first), len(second))
    if first.endswith(second[len(second) - high :]):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if first[-middle : len(first) - low] == second[-middle : len(second) - low]:
            low = middle
        else:
            high = middle
    return low


def diff_ranges(old: Sequence[str], new: Sequence[str]) -> list[Range]:
    """Return the ranges in which two lists of lines or words differ, in order."""
    return _merge_ranges(_Search(old, new).compare(0, len(old), 0, len(new)))


class _Search:
    """A comparison under way, and the steps that are left for it."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self.old, self.new = old, new
        self.steps = MOST_STEPS
        self.is_coarse = False

    def compare(self, a: int, b: int, c: int, d: int) -> Iterator[Range]:
        """Yield the ranges in which old[a:b] and new[c:d] differ, in order."""
        old, new = self.old, self.new
        while a < b and c < d and old[a] == new[c]:
            a, c = a + 1, c + 1
        while a < b and c < d and old[b - 1] == new[d - 1]:
            b, d = b - 1, d - 1
        if a == b or c == d:
            if a < b or c < d:
                yield a, b, c, d
            return
        shortest = self._find_shortest(a, b, c, d)
        if shortest is not None:
            yield from shortest
            return
        self.is_coarse = True
        for old_line, new_line in _pair_lines(old, new, (a, b, c, d)):
            yield from self._compare_between((a, old_line, c, new_line))
            a, c = old_line + 1, new_line + 1
        yield from self._compare_between((a, b, c, d))

    def _compare_between(self, span: Range) -> Iterator[Range]:
        a, b, c, d = span
        if a == b and c == d:
            return
        shortest = self._find_shortest(a, b, c, d)
        if shortest is None:
            yield span
        else:
            yield from shortest

    def _find_shortest(self, a: int, b: int, c: int, d: int) -> list[Range] | None:
        """Find the shortest edit script, or None if the steps do not suffice."""
        rows, columns = b - a, d - c
        if not rows or not columns:
            return [(a, b, c, d)]
        max_edits = min(rows + columns, isqrt(2 * self.steps) + 1)
        reach = [0] * (2 * max_edits + 3)  # by diagonal, the last line reached in the old text
        trail: list[list[int]] = []
        for edits in range(max_edits + 1):
            check_deadline()
            self.steps -= edits + 1
            if self.steps < 0:
                break
            # The state before this round, from which `_walk_back` finds the path.
            trail.append(reach[max_edits - edits : max_edits + edits + 3])
            for diagonal in range(-edits, edits + 1, 2):
                x = _advance(reach, max_edits + 1, diagonal, edits)
                y = x - diagonal
                start = x
                while x < rows and y < columns and self.old[a + x] == self.new[c + y]:
                    x, y = x + 1, y + 1
                self.steps -= x - start
                reach[max_edits + 1 + diagonal] = x
                if x >= rows and y >= columns:
                    return _walk_back(trail, (rows, columns), (a, c))
        self.steps = max(0, self.steps)
        return None


def _goes_down(reach: list[int], middle: int, diagonal: int, edits: int) -> bool:
    """Return whether the best path to a diagonal inserts a line; else it deletes one."""
    if diagonal in (-edits, edits):
        return diagonal == -edits
    return reach[middle + diagonal - 1] < reach[middle + diagonal + 1]


def _advance(reach: list[int], middle: int, diagonal: int, edits: int) -> int:
    if _goes_down(reach, middle, diagonal, edits):
        return reach[middle + diagonal + 1]
    return reach[middle + diagonal - 1] + 1


def _walk_back(trail: list[list[int]], end: tuple[int, int], start: tuple[int, int]) -> list[Range]:
    """Follow the path of the search back, and return its edits in order."""
    x, y = end
    (a, c), ranges = start, []
    for edits in range(len(trail) - 1, 0, -1):
        reach, middle, diagonal = trail[edits], edits + 1, x - y
        down = _goes_down(reach, middle, diagonal, edits)
        before = diagonal + 1 if down else diagonal - 1
        old_line = reach[middle + before]
        new_line = old_line - before
        if down:
            ranges.append((a + old_line, a + old_line, c + new_line, c + new_line + 1))
        else:
            ranges.append((a + old_line, a + old_line + 1, c + new_line, c + new_line))
        x, y = old_line, new_line
    ranges.reverse()
    return ranges


def _pair_lines(old: Sequence[str], new: Sequence[str], span: Range) -> list[tuple[int, int]]:
    """Pair the lines that occur once in both texts, as many as keep their order."""
    a, b, c, d = span
    once_old, once_new = _find_unique(old, a, b), _find_unique(new, c, d)
    pairs = [(at, once_new[line]) for line, at in once_old.items() if line in once_new]
    pairs.sort()
    return _find_longest_run(pairs)


def _find_unique(lines: Sequence[str], start: int, end: int) -> dict[str, int]:
    places: dict[str, int] = {}
    for at in range(start, end):
        places[lines[at]] = -1 if lines[at] in places else at
    return {line: at for line, at in places.items() if at >= 0}


def _find_longest_run(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Find the longest run of pairs that increases on both sides."""
    ends: list[int] = []  # by length, the pair that a run of that length ends with
    before: list[int] = []
    for at, (_, right) in enumerate(pairs):
        low, high = 0, len(ends)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if pairs[ends[middle]][1] < right else (low, middle)
        before.append(ends[low - 1] if low else -1)
        ends[low : low + 1] = [at]
    run, at = [], ends[-1] if ends else -1
    while at >= 0:
        run.append(pairs[at])
        at = before[at]
    run.reverse()
    return run


def _merge_ranges(ranges: Iterator[Range]) -> list[Range]:
    """Join the ranges that touch."""
    merged_ranges: list[Range] = []
    for a, b, c, d in ranges:
        if merged_ranges and merged_ranges[-1][1] == a and merged_ranges[-1][3] == c:
            merged_ranges[-1] = (merged_ranges[-1][0], b, merged_ranges[-1][2], d)
        else:
            merged_ranges.append((a, b, c, d))
    return merged_ranges


def _join_unified(
    old: Sequence[str], changes: Sequence[Change], names: tuple[str, str]
) -> tuple[str, bool]:
    """Return changes as a unified diff, and whether it was cut."""
    lines: list[str] = []
    size = 0
    for line in _format_unified(old, changes, names):
        size += len(line) + 1
        if size > MOST_CHARACTERS:
            return "\n".join(lines), True
        lines.append(line)
    return "\n".join(lines), False


def _format_unified(
    old: Sequence[str], changes: Sequence[Change], names: tuple[str, str]
) -> Iterator[str]:
    """Write changes as a unified diff, with a few lines around them."""
    if changes:
        yield f"--- {names[0]}"
        yield f"+++ {names[1]}"
    at = 0
    while at < len(changes):
        last = at
        while last + 1 < len(changes) and changes[last + 1][0] - changes[last][1] <= 2 * _CONTEXT:
            last += 1
        yield from _format_hunk(old, changes[at : last + 1])
        at = last + 1


def _format_hunk(old: Sequence[str], changes: Sequence[Change]) -> Iterator[str]:
    lead = min(_CONTEXT, changes[0][0])
    tail = min(_CONTEXT, len(old) - changes[-1][1])
    start, end = changes[0][0] - lead, changes[-1][1] + tail
    new_start, new_end = changes[0][2] - lead, changes[-1][2] + len(changes[-1][3]) + tail
    yield f"@@ -{_format_range(start, end)} +{_format_range(new_start, new_end)} @@"
    at = start
    for a, b, _, new_lines in changes:
        yield from (f" {line}" for line in old[at:a])
        yield from (f"-{line}" for line in old[a:b])
        yield from (f"+{line}" for line in new_lines)
        at = b
    yield from (f" {line}" for line in old[at:end])


def _format_range(start: int, end: int) -> str:
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


# Two versions of a page compared line by line, and changed lines word by word.


SAME, ADDED, REMOVED, GAP = "same", "added", "removed", "gap"
MOST_LINES = 5000  # of a comparison that is shown; the rest is left out
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
        check_deadline()
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
        check_deadline()
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
