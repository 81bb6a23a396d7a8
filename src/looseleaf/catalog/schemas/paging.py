"""Bounds of `limit` and `offset`, the arguments by which a long list is read in parts.

Operations clamp: a number that is out of range counts as the nearest one in range. The audit alone
refuses: its reader recognizes the last part by its length, and a clamped part would look like it.
Searches in pages have their own bounds (`memory/search/bounds.py`).
"""

from __future__ import annotations

from looseleaf.catalog.schemas.json_values import LARGEST_INTEGER
from looseleaf.errors import Invalid

MOST_LISTED = 100  # entries of one part of a list


def bound_limit(limit: int, maximum: int = MOST_LISTED, *, minimum: int = 1) -> int:
    """Return the number of entries to list: as many as asked for, within the bounds."""
    return max(minimum, min(limit, maximum))


def bound_offset(offset: int) -> int:
    """Return the number of entries to pass over: none for a negative one."""
    return max(0, min(offset, LARGEST_INTEGER))


def check_limit(limit: int, maximum: int) -> None:
    """Raise `Invalid` unless the number of entries to list is from 1 to the maximum."""
    if not 1 <= limit <= maximum:
        raise Invalid(f"limit is 1 to {maximum}.")
