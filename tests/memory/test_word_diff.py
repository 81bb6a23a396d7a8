"""Two versions compared: whole lines, changed words, and gaps between them."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from looseleaf.memory.differences import ADDED, GAP, REMOVED, SAME, diff_words, split_lines

LINES = st.lists(st.sampled_from(["a", "b", "one two", "one three", ""]), max_size=12)


def test_the_changed_words_of_a_line_are_marked() -> None:
    """What stays of the line is the same on both sides."""
    diff = diff_words("- migration: in progress\n", "- migration: done\n")
    removed, added = diff.lines
    assert [(segment.kind, segment.text) for segment in removed.segments][-1] == (
        REMOVED,
        "in progress",
    )
    assert [(segment.kind, segment.text) for segment in added.segments] == [
        (SAME, "- migration: "),
        (ADDED, "done"),
    ]
    assert (diff.added, diff.removed) == (1, 1)


def test_lines_without_a_common_word_differ_as_a_whole() -> None:
    """Marks on every second word would say nothing."""
    removed, added = diff_words("alpha beta gamma", "one, two; three").lines
    assert [segment.kind for segment in removed.segments] == [REMOVED]
    assert [segment.kind for segment in added.segments] == [ADDED]


def test_lines_far_from_a_change_are_a_gap() -> None:
    """Which says how many lines it stands for."""
    lines = [f"line {number}" for number in range(40)]
    diff = diff_words("\n".join(lines), "\n".join([*lines[:20], "new", *lines[20:]]))
    assert [item.count for item in diff.lines if item.kind == GAP] == [17, 17]
    assert [item.new for item in diff.lines if item.kind == ADDED] == [21]


@given(LINES, LINES)
def test_both_versions_can_be_read_from_the_comparison(old: list[str], new: list[str]) -> None:
    """No line is lost, whatever changed."""
    before, after = "\n".join(old), "\n".join(new)
    assume(split_lines(before) != split_lines(after))  # the same lines twice are one gap
    lines = diff_words(before, after, context=99).lines
    text = [("".join(part.text for part in item.segments), item.kind) for item in lines]
    assert [line for line, kind in text if kind != ADDED] == split_lines(before)
    assert [line for line, kind in text if kind != REMOVED] == split_lines(after)
