"""Said once: an append adds what its section does not say, and answers where the rest stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf import Workspace
from looseleaf.memory.repeats import fold_line, screen_addition, screen_page_addition
from looseleaf.operations.daily import write_day
from looseleaf.operations.long_and_short_term import add_long_term
from looseleaf.operations.memory import append_page, read_memory, update_memory

SECTION = "## State\n\n- Eve likes tea.\n- The deploy day is Tuesday, by hand.\n"


@pytest.mark.parametrize(
    "line",
    [
        "- Eve likes tea.",
        "* eve  likes TEA",
        "Eve likes tea!",
        "+ **Eve** likes `tea`",
        '-\t"Eve likes tea."\r',
    ],
)
def test_the_same_line_is_not_added(line: str) -> None:
    """Whatever its case, spaces, punctuation and bullet; the note says where it stands."""
    screened = screen_addition(SECTION, line, section="State", first_line=7)
    assert screened.text is None
    (note,) = screened.notes
    assert note.startswith("Not added, since it is there already: ")
    assert note.endswith("(section State, line 9).")


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("if !ready", "if ready"),
        ("- [ ] Call Eve", "- [x] Call Eve"),
        ("It is 5 degrees", "It is -5 degrees"),
        ("version 1.5", "version 15"),
        ("C++ it is", "C it is"),
        ("We deploy on Friday", "We deploy on Friday?"),
        ("rm src/*", "rm src/"),
        ("a == b", "a != b"),
        ("1. Wait a minute", "3. Wait a minute"),
        ("2 * 3", "2 3"),
        ("~~Eve likes tea~~", "Eve likes tea"),
        ("a .env file", "a env file"),
    ],
)
def test_lines_that_say_something_else_are_both_kept(line: str, other: str) -> None:
    """Signs with a meaning are no punctuation."""
    assert fold_line(line) != fold_line(other)
    assert screen_addition(f"{line}\n", other).text == other


def test_of_several_lines_the_new_ones_are_added() -> None:
    """A list item with all that is below it; code, tables and headings stay as they are."""
    old = (
        "## State\n\n- Eve likes tea.\n- Bob:\n  - plays chess\n  - sails\n\n```\nmake ship\n```\n"
        "\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    )
    new = (
        "- Ann is new.\n- Eve likes tea.\n- Bob:\n  - plays chess\n  - sails\n"
        "\n```\nmake ship\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    )
    screened = screen_addition(old, new, section="State")
    assert screened.text == "- Ann is new.\n" + new.partition("  - sails\n")[2].removeprefix("\n")
    assert '"Eve likes tea." (section State, line 3), "Bob:" (section State, line 4)' in str(
        screened.notes
    )
    partly = "- Bob:\n  - plays chess\n  - skis\n"
    assert screen_addition(old, partly).text == partly


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("- Eve:\n  - likes tea\n", "- likes tea\n"),
        ("### May\n\n- It rained.\n\n### June\n\n- Sun.\n", "- It rained.\n"),
        ("Monday:\n\n- Go swimming\n\nTuesday:\n\n- Rest\n", "- Go swimming\n"),
        ("```\n- Eve likes tea.\n```\n", "- Eve likes tea.\n"),
        ("<!-- Eve likes tea. -->\n", "Eve likes tea.\n"),
        ("- Eve likes tea.\n", "### Notes\n\n- Eve likes tea.\n"),
        ("- Eve likes tea.\n", "```\n- Eve likes tea.\n```\n"),
        ("Deploy\nnever on Friday.\n", "Deploy\n"),
        ("- Eve likes tea.\n", "\n"),
        ("---\n", "---\n"),
        ("- Eve likes tea.\n\n```\nmake\n", "- Eve likes tea.\n"),
        ("```\n", "- Eve likes tea.\n"),
        ("", "- Eve likes tea.\n"),
    ],
)
def test_the_same_words_in_another_place_are_added(old: str, new: str) -> None:
    """Below another item, heading or introduction, in code or in a comment, or without words."""
    assert screen_addition(old, new).text == new


def test_near_duplicates_are_added_and_named() -> None:
    """With the line, and the word that differs; not if the word reverses the sentence."""
    near = "- The deploy day is Monday, by hand."
    screened = screen_addition(SECTION, near, section="State")
    assert screened.text == near
    (note,) = screened.notes
    assert 'differs from section State, line 4, only in "monday" instead of "tuesday"' in note
    reverse = "- The deploy day is never Tuesday, by hand."
    assert screen_addition(SECTION, reverse).notes == ()


def test_sections_are_apart() -> None:
    """The same words in another section are another fact, and a missing section is no error."""
    page = f"{SECTION}\n## Project\n\n- Eve is the owner.\n"
    assert screen_page_addition(page, "- Eve likes tea.", "Project").text == "- Eve likes tea."
    assert screen_page_addition(page, "- Eve likes tea.", "State").text is None
    assert screen_page_addition(page, "- Eve is the owner.").text is None
    assert screen_page_addition(page, "- x\n", "New").text == "- x\n"
    assert screen_page_addition(page, "## State\n\n- Eve likes tea.").text is not None


@given(
    lines=st.lists(st.sampled_from(["- Eve likes tea.", "- a", "Bob sails.", "- [ ] go", ""])),
    more=st.lists(st.sampled_from(["- EVE likes tea", "- b", "```", "| a |", "Ann.", "  - a", ""])),
)
def test_what_is_new_is_never_lost(lines: list[str], more: list[str]) -> None:
    """Each line of an addition is in the section before or after; an addition is added once."""
    old, new = "\n".join(["## State", "", *lines, ""]), "\n".join(more)
    text = screen_addition(old, new).text
    said = {fold_line(line) for line in (old + (text or "")).split("\n")}
    assert {fold_line(line) for line in more} <= said | {""}
    assert all(line in more for line in (text or "").split("\n") if line)


def test_every_way_of_adding_says_what_it_did(workspace: Workspace) -> None:
    """A section, a page and the long-term memory; the journal takes what happened twice."""
    context = workspace.context
    first = update_memory(context, "State", "- Eve likes tea.", mode="append")
    assert (first.changed, first.warnings) == (True, ())
    line = read_memory(context).content.split("\n").index("- Eve likes tea.") + 1
    for again in (
        update_memory(context, "State", "- eve likes TEA", mode="append"),
        add_long_term(context, "Eve likes tea", section="State"),
    ):
        assert (again.changed, again.hash) == (False, first.hash)
        assert again.warnings[0].endswith(f'" (section State, line {line}).')
    append_page(context, "notes.md", "- One fact.")
    page = append_page(context, "notes.md", "- One fact.\n- Another fact.\n")
    assert page.changed
    assert page.warnings == ('Not added, since it is there already: "One fact." (line 1).',)
    assert read_memory(context, "notes.md").content == "- One fact.\n- Another fact.\n"
    for _ in range(2):
        day = write_day(context, "- Ran the tests.", "2026-03-01")
    assert day.changed
    append_page(context, "daily/2026/03/01.md", "- Ran the tests.")
    text = read_memory(context, "daily/2026/03/01.md").content
    assert text.count("- Ran the tests.") == 3
