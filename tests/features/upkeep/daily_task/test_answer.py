"""The markers of an answer, wherever else they stand."""

from __future__ import annotations

from looseleaf.features.upkeep.daily_task.conversation import (
    NO_PARTS,
    AnswerParts,
    parse_answer,
    unescape_newlines,
)


def test_markers_come_in_either_order() -> None:
    """And text before the first of them is ignored."""
    one = "Sure, here it is:\n```\n===PERSISTENT===\n- a\n===ARCHIVED===\n- b\n"
    two = "===ARCHIVED===\n- b\n===PERSISTENT===\n- a"
    assert parse_answer(one) == parse_answer(two) == AnswerParts("- a", "- b")


def test_a_part_can_be_missing() -> None:
    """Without the persistent part there is nothing to keep."""
    assert parse_answer("===PERSISTENT===\n- a\n") == AnswerParts("- a", None)
    assert parse_answer("===ARCHIVED===\n- a\n") == AnswerParts(None, "- a")
    assert parse_answer("- a\n") == NO_PARTS
    assert parse_answer("**===PERSISTENT===**\n- a\n") == AnswerParts("- a", None)


def test_a_marker_within_a_sentence_is_none() -> None:
    """Only a line of its own divides."""
    text = "===PERSISTENT===\n- the line ===ARCHIVED=== divides\n===ARCHIVED===\n- b"
    assert parse_answer(text) == AnswerParts("- the line ===ARCHIVED=== divides", "- b")


def test_markers_of_the_page_cannot_cut_it() -> None:
    """They stand between the same lines as in the page, and the model's do not."""
    page = "# M\n\n```\n===PERSISTENT===\nexample\n===ARCHIVED===\n```\n\n- a\n- b\n"
    whole = page.rstrip("\n").removesuffix("\n- b")
    answer = f"===PERSISTENT===\n{whole}\n===ARCHIVED===\n- b\n"
    assert parse_answer(answer, page) == AnswerParts(whole, "- b")
    archive = page.partition("\n\n")[2].rstrip("\n")
    other = f"===PERSISTENT===\n# M\n===ARCHIVED===\n{archive}\n"
    assert parse_answer(other, page) == AnswerParts("# M", archive)


def test_an_answer_that_nobody_can_read_gives_nothing() -> None:
    """Two drafts, and the page has no marker of its own."""
    draft = "===PERSISTENT===\n- a\n===ARCHIVED===\n- b\n"
    assert parse_answer(draft + draft, "- a\n- b\n") is None


def test_escaped_line_ends_are_lines_only_where_there_is_no_other() -> None:
    """Code in a memory may have `\\n` in it."""
    assert unescape_newlines("===PERSISTENT===\\n- a\\n") == "===PERSISTENT===\n- a\n"
    assert unescape_newlines('- print("\\n")\n- b') == '- print("\\n")\n- b'
