"""The one replacement that makes a page's new bytes of its old ones, and how it is applied."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def splice(old: bytes, new: bytes) -> list[object]:
    """Give the one replacement that makes `new` of `old`: offset, bytes removed, text put in."""
    start = _common(old, new)
    end = _common_end(old[start:], new[start:])
    # Where a cut goes through a character, the whole character is put in.
    while start and _continues(new[start : start + 1]):
        start -= 1
    while end and _continues(new[len(new) - end : len(new) - end + 1]):
        end -= 1
    put_in = new[start : len(new) - end]
    try:
        return [start, len(old) - start - end, put_in.decode()]
    except UnicodeDecodeError:  # the page is not text
        return [0, len(old), new.decode("latin-1"), "latin-1"]


def _continues(byte: bytes) -> bool:
    """Say whether a byte is one of those that follow the first of a UTF-8 character."""
    return b"\x80" <= byte < b"\xc0"


def unsplice(old: bytes, redo: list[Any]) -> bytes:
    """Apply what `splice` gave."""
    start, removed, put_in, *encoding = redo
    middle: bytes = put_in.encode(*encoding)
    return old[:start] + middle + old[start + removed :]


def is_whole(redo: list[Any], size: int) -> bool:
    """Say whether a replacement puts in all that the new bytes, `size` of them, consist of."""
    _, _, put_in, *encoding = redo
    return len(put_in.encode(*encoding)) == size


def _common(left: bytes, right: bytes) -> int:
    """Count the bytes two strings share at their start, by halving: each step is one memcmp."""
    low, high = 0, min(len(left), len(right))
    if left[:high] == right[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _common_end(left: bytes, right: bytes) -> int:
    """Count the bytes two strings share at their end, likewise."""
    low, high = 0, min(len(left), len(right))
    if left.endswith(right[len(right) - high :]):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if left[-middle : len(left) - low] == right[-middle : len(right) - low]:
            low = middle
        else:
            high = middle
    return low
