"""The replacements that make one version of a page from another, several at a time."""

from __future__ import annotations

from itertools import accumulate

from looseleaf.memory.text.line_diff import diff_ranges
from looseleaf.stores.disk.splice import count_common_end, count_common_start

# A replacement: its place in the old bytes, the number of bytes to remove, the bytes to insert.
Hunk = tuple[int, int, bytes]

_LEAST_BYTES = 512  # of a changed part; below, a comparison by lines saves nothing


def find_hunks(old: bytes, new: bytes) -> list[Hunk]:
    """Return the replacements that make `new` from `old`, in order.

    A page that changed in one place needs one replacement. If it changed in several places, the
    part between the first and the last is compared line by line.
    """
    start = count_common_start(old, new)
    end = count_common_end(old[start:], new[start:])
    old_part, new_part = old[start : len(old) - end], new[start : len(new) - end]
    if min(len(old_part), len(new_part)) < _LEAST_BYTES:
        return [(start, len(old_part), new_part)] if old_part or new_part else []
    # Latin-1 has a character for each byte, so that places in the text are places in the bytes.
    old_lines = old_part.decode("latin-1").splitlines(keepends=True)
    new_lines = new_part.decode("latin-1").splitlines(keepends=True)
    old_places = list(accumulate(map(len, old_lines), initial=0))
    new_places = list(accumulate(map(len, new_lines), initial=0))
    return [
        (
            start + old_places[a],
            old_places[b] - old_places[a],
            new_part[new_places[c] : new_places[d]],
        )
        for a, b, c, d in diff_ranges(old_lines, new_lines)
    ]


def apply_hunks(content: bytearray, hunks: list[Hunk]) -> None:
    """Derive the new bytes from the old ones, in place."""
    for place, removed_count, insertion in reversed(hunks):
        content[place : place + removed_count] = insertion
