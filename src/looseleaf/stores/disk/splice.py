"""The one replacement that makes a page's new bytes from its old ones, and how it is applied."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
