"""A size is written in one way everywhere, and never as nothing if there is something."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.files.mounts import choose_unit, format_size


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1_000, "1.0 KB"),
        (20_480, "20.5 KB"),
        (999_949, "999.9 KB"),
        (999_950, "1.0 MB"),
        (1_500_000, "1.5 MB"),
        (999_950_000, "1.0 GB"),
        (2_500_000_000_000, "2,500.0 GB"),
    ],
)
def test_a_size_has_the_unit_that_fits(size: int, text: str) -> None:
    """Bytes as such, all others with one digit after the point."""
    assert format_size(size) == text


@given(st.integers(1, 10**15))
def test_something_is_never_nothing(size: int) -> None:
    """And three digits before the point are enough, up to the largest unit."""
    text = format_size(size)
    assert not text.startswith("0")
    assert text.endswith("GB") or not text.startswith("1,000")


@given(st.integers(0, 10**13))
def test_progress_has_steps(total: int) -> None:
    """If there are ten bytes at all."""
    unit, factor = choose_unit(total)
    assert total // factor >= min(total, 10)
    assert unit in ("bytes", "KB", "MB")
