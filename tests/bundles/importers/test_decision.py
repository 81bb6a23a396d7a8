"""An import creates, replaces or merges a page, and takes nothing away that was written here."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from looseleaf.bundles.importers.decision import (
    CREATE,
    LEFT_OUT,
    MERGE,
    REPLACE,
    UNCHANGED,
    decide,
    merge_texts,
    record_import,
)

SOURCE = "# Memory\n\n## Trees\n\n- Row 3 is pears\n"
CHANGED = "# Memory\n\n## Trees\n\n- Row 3 is pears\n- Row 4 is quinces\n"


def test_a_page_that_is_missing_is_created() -> None:
    """It has the text of the source, byte for byte."""
    decision = decide(None, SOURCE, None)
    assert (decision.action, decision.text) == (CREATE, SOURCE)


def test_a_second_import_changes_nothing() -> None:
    """Whether the page is as it was, or was changed here."""
    former = record_import(SOURCE, SOURCE)
    assert decide(SOURCE, SOURCE, former).action == UNCHANGED
    assert decide(SOURCE + "- learned here\n", SOURCE, former).action == UNCHANGED


def test_a_page_that_nobody_changed_follows_its_source() -> None:
    """Lines that the source dropped go, too: they were the source's own."""
    former = record_import(CHANGED, CHANGED)
    decision = decide(CHANGED, SOURCE, former)
    assert (decision.action, decision.text) == (REPLACE, SOURCE)


def test_a_starter_text_is_replaced() -> None:
    """It says nothing that anyone learned."""
    assert decide("# Agent Memory\n", SOURCE, None, is_starter=True).action == REPLACE


def test_a_page_of_the_same_name_is_merged() -> None:
    """The first import finds a page that was written here."""
    page = "# Memory\n\n## Trees\n\n- Row 9 is plums\n\n## People\n\n- Ines prunes\n"
    decision = decide(page, SOURCE, None)
    assert decision.action == MERGE
    assert "- Row 3 is pears\n" in decision.text
    assert "- Row 9 is plums\n" in decision.text
    assert decision.text.count("## Trees") == 1
    assert decide(decision.text, SOURCE, None).action == UNCHANGED


def test_a_changed_source_brings_only_what_is_new() -> None:
    """A line that was removed here stays away, and a line that was learned here stays."""
    former = record_import(SOURCE, SOURCE)
    page = "# Memory\n\n## Trees\n\n- Learned here\n"
    decision = decide(page, CHANGED, former)
    assert decision.action == MERGE
    assert "- Row 4 is quinces\n" in decision.text
    assert "- Learned here\n" in decision.text
    assert "- Row 3 is pears" not in decision.text


def test_a_line_that_the_source_removed_stays_in_a_changed_page() -> None:
    """An import only adds where someone here has written."""
    former = record_import(CHANGED, CHANGED)
    page = CHANGED + "- Learned here\n"
    decision = decide(page, SOURCE + "\n## New\n\n- x\n", former)
    assert "- Row 4 is quinces\n" in decision.text
    assert "- Learned here\n" in decision.text
    assert "## New\n" in decision.text


def test_a_page_that_was_deleted_here_stays_deleted() -> None:
    """Also where the source has changed since."""
    former = record_import(SOURCE, SOURCE)
    assert decide(None, CHANGED, former).action == LEFT_OUT


LINES = st.lists(
    st.sampled_from(["# T", "## A", "## B", "- one", "- two", "- three", "", "```", "text"]),
    max_size=12,
).map(lambda lines: "".join(f"{line}\n" for line in lines))


@settings(max_examples=200, deadline=None)
@given(current=LINES, source=LINES, before=LINES)
def test_a_merge_loses_no_line_and_is_repeatable(current: str, source: str, before: str) -> None:
    """Every line of the page is there afterwards, whatever the three texts are."""
    former = record_import(before, before)
    text = merge_texts(current, source, former)
    present = {line.rstrip() for line in text.splitlines()}
    assert {line.rstrip() for line in current.splitlines() if line.strip()} <= present
    new_lines = set(source.splitlines()) - set(before.splitlines())
    assert {line for line in new_lines if line.strip()} <= present
    again = decide(text, source, record_import(source, text))
    assert again.action == UNCHANGED


@pytest.mark.parametrize(("page_end", "source_end"), [("\n", "\r\n"), ("\r\n", "\n")])
def test_a_merge_keeps_the_line_ends_of_the_page(page_end: str, source_end: str) -> None:
    """No line is there twice for its end alone."""
    page = "# Memory\n\n- a\n- ours\n".replace("\n", page_end)
    source = "# Memory\n\n- a\n- theirs\n".replace("\n", source_end)
    decision = decide(page, source, None)
    assert decision.action == "merge"
    assert decision.text.splitlines().count("- a") == 1
    assert {"- ours", "- theirs"} <= set(decision.text.splitlines())
    assert decision.text.count("\r\n") == (decision.text.count("\n") if "\r" in page_end else 0)
