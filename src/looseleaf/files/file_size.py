"""Sizes of files as people read them."""

from __future__ import annotations

_UNITS = (("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1_000))
_LEAST_STEPS = 10


def format_size(size: int) -> str:
    """Write a number of bytes briefly: 1 byte, 950 bytes, 1.5 KB, 20.0 MB."""
    for unit, factor in _UNITS:
        # A size that would be rounded to 1,000 of a unit is shown as 1 of the next unit.
        if size >= factor - factor // 20_000:
            return f"{size / factor:,.1f} {unit}"
    return "1 byte" if size == 1 else f"{size} bytes"


def choose_unit(total: int) -> tuple[str, int]:
    """Return name and size of a unit in which progress up to a total has several steps."""
    for unit, factor in _UNITS[1:]:
        if total >= factor * _LEAST_STEPS:
            return unit, factor
    return "bytes", 1
