"""The replacements that make one version of a page from another, several at a time."""

from __future__ import annotations

from itertools import accumulate

from looseleaf.memory.differences import count_common_end, count_common_start, diff_ranges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# The one replacement that makes a page's new bytes from its old ones, and how it is applied.


def splice(old: bytes, new: bytes) -> list[object]:
    """Return the replacement that makes `new` from `old`: offset, bytes removed, text inserted."""
    start = count_common_start(old, new)
    end = count_common_end(old[start:], new[start:])
    # If the change begins or ends inside a character, the whole character is inserted.
    while start and _continues(new[start : start + 1]):
        start -= 1
    while end and _continues(new[len(new) - end : len(new) - end + 1]):
        end -= 1
    insertion = new[start : len(new) - end]
    try:
        return [start, len(old) - start - end, insertion.decode()]
    except UnicodeDecodeError:  # the page is not text
        return [0, len(old), new.decode("latin-1"), "latin-1"]


def _continues(byte: bytes) -> bool:
    """Return whether a byte is the second or a later byte of a UTF-8 character."""
    return b"\x80" <= byte < b"\xc0"


def apply_splice(old: bytes, redo: list[Any]) -> bytes:
    """Apply a replacement that `splice` gave, and return the new bytes."""
    start, removed_count, insertion, *encoding = redo
    middle: bytes = insertion.encode(*encoding)
    return old[:start] + middle + old[start + removed_count :]


def is_whole(redo: list[Any], size: int) -> bool:
    """Return whether a replacement inserts all of the new bytes, `size` of them."""
    _, _, insertion, *encoding = redo
    return len(insertion.encode(*encoding)) == size


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
