"""Lines are split without loss and counted without blank ends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from looseleaf.memory.units import count_lines, has_word, size_of, split_lines


@given(st.text())
def test_lines_joined_are_the_text(text: str) -> None:
    """Whatever other line ends it has."""
    lines = split_lines(text)
    assert "".join(lines) == text
    assert all(line.endswith("\n") for line in lines[:-1])


def test_lines_are_counted_as_a_multiset() -> None:
    """Blank lines and blank ends do not count."""
    assert count_lines("- a \r\n\n- a\n  - a\n \t\n") == {"- a": 2, "  - a": 1}


def test_a_fence_has_no_word() -> None:
    """A letter of any alphabet is one."""
    assert not has_word("```\n")
    assert not has_word("| --- | :-: |")
    assert has_word("- 状態")
    assert size_of("ä") == 2
