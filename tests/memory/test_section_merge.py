"""Two changes of one page are merged by section, and no line that either side added is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.memory.section_merge import (
    BOTH,
    MINE,
    SAME,
    THEIRS,
    compare_sections,
    merge_lines,
    merge_sections,
)

BASE = "# M\n\n## A\n- a\n\n## B\n- b\n"
LINES = st.lists(st.sampled_from(["- x", "- y", "- z", "text"]), unique=True, max_size=4)


def states(base: str | None, mine: str, theirs: str) -> list[tuple[str, str]]:
    return [(section.title, section.state) for section in compare_sections(base, mine, theirs)]


def test_each_section_says_who_changed_it() -> None:
    """Both, one side or nobody."""
    mine = "# M\n\n## A\n- a\n- mine\n\n## B\n- b\n"
    theirs = "# M\n\n## A\n- a\n- theirs\n\n## B\n- changed\n\n## C\n- c\n"
    assert states(BASE, mine, theirs) == [("", SAME), ("A", BOTH), ("B", THEIRS), ("C", THEIRS)]
    merged = merge_sections(compare_sections(BASE, mine, theirs), {})
    assert merged == "# M\n\n## A\n- a\n- theirs\n- mine\n\n## B\n- changed\n\n## C\n- c\n"


@pytest.mark.parametrize(("choice", "line"), [(MINE, "- mine"), (THEIRS, "- theirs")])
def test_one_side_can_be_chosen(choice: str, line: str) -> None:
    """For one section, without the other side's line."""
    mine, theirs = BASE.replace("- a", "- mine"), BASE.replace("- a", "- theirs")
    parts = compare_sections(BASE, mine, theirs)
    assert merge_sections(parts, {1: choice}) == BASE.replace("- a", line)


def test_a_section_that_one_side_removed_goes() -> None:
    """If the other side left it alone; its own change keeps it."""
    mine = "# M\n\n## B\n- b\n"
    assert merge_sections(compare_sections(BASE, mine, BASE), {}) == mine
    kept = merge_sections(compare_sections(BASE, mine, BASE.replace("- a", "- news")), {})
    assert "- news" in kept


def test_without_a_base_every_difference_is_of_both() -> None:
    """Nobody knows who changed what."""
    assert states(None, BASE, BASE.replace("- b", "- c")) == [("", SAME), ("A", SAME), ("B", BOTH)]


@given(LINES, LINES, LINES)
def test_no_added_line_is_lost(base: list[str], mine: list[str], theirs: list[str]) -> None:
    """What a side added to the base stands in the merged lines."""
    texts = ["".join(f"{line}\n" for line in lines) for lines in (base, mine, theirs)]
    merged = merge_lines(*texts).splitlines()
    assert (set(mine) | set(theirs)) - set(base) <= set(merged)


@given(LINES, LINES)
def test_one_side_alone_is_taken_as_it_is(base: list[str], mine: list[str]) -> None:
    """If the other side changed nothing."""
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (base, mine))
    assert merge_lines(before, after, before) == after
    assert merge_lines(before, before, after) == after
