"""An import creates, replaces or merges a page, and takes nothing away that was written here."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from looseleaf.features.imports.ledger import (
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
    """An import only adds if someone here has written."""
    former = record_import(CHANGED, CHANGED)
    page = CHANGED + "- Learned here\n"
    decision = decide(page, SOURCE + "\n## New\n\n- x\n", former)
    assert "- Row 4 is quinces\n" in decision.text
    assert "- Learned here\n" in decision.text
    assert "## New\n" in decision.text


def test_a_page_that_was_deleted_here_stays_deleted() -> None:
    """Even if the source has changed since."""
    former = record_import(SOURCE, SOURCE)
    assert decide(None, CHANGED, former).action == LEFT_OUT


def test_a_line_that_was_removed_here_stays_away_when_the_source_moves_it() -> None:
    """The source sorts its lines under a new heading; a line that is here comes no second time."""
    source = "# Memory\n\n- Row 3 is pears\n- Ines has the key\n"
    former = record_import(source, source)
    page = "# Memory\n\n- Row 3 is pears\n- Learned here\n"
    sorted_source = (
        "# Memory\n\n## Trees\n\n- Row 3 is pears\n- Row 4 is quinces\n\n"
        "## People\n\n- Ines has the key\n"
    )
    text = decide(page, sorted_source, former).text
    assert "- Ines has the key" not in text
    assert "## People" not in text
    assert text.count("- Row 3 is pears") == 1
    assert text.endswith("## Trees\n\n- Row 4 is quinces\n\n")


def test_a_page_whose_code_fence_never_ends_gets_each_line_once() -> None:
    """A section behind the fence is no section; by name it would be missing at every import."""
    page = "# Memory\n\n```\nmake all\n"
    source = "# Memory\n\n## Trees\n\n- Row 3 is pears\n"
    decision = decide(page, source, None)
    assert decision.text.count("- Row 3 is pears") == 1
    assert decide(decision.text, source, None).action == UNCHANGED


@pytest.mark.parametrize("sign", ["\x0c", "\x0b", "\x1c", "\x85", "\u2028", "\u2029"])
def test_signs_that_only_some_programs_take_for_line_ends_stay(sign: str) -> None:
    """The lines around the new one keep every byte."""
    page = f"# Memory\n\n- one{sign}two\n- ours\n"
    assert decide(page, f"- three{sign}four\n", None).text == f"{page}- three{sign}four\n"


SIGNS = ["# T", "## A", "## B", "- one", "- two", "- three", "", "```", "text", "a\x0cb", "\u2028"]
LINES = st.lists(st.sampled_from(SIGNS), max_size=12).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)


@settings(max_examples=400, deadline=None)
@given(current=LINES, source=LINES, before=LINES)
def test_a_merge_loses_no_line_and_is_repeatable(current: str, source: str, before: str) -> None:
    """Every line of the page is there afterwards, whatever the three texts are."""
    former = record_import(before, before)
    text = merge_texts(current, source, former)
    assert plain_lines(current) <= plain_lines(text)
    assert facts(source) - facts(before) <= facts(text)
    assert not (facts(before) - facts(current)) & facts(text)
    assert decide(text, source, record_import(source, text)).action == UNCHANGED
    upload = merge_texts(current, source, None)
    assert merge_texts(upload, source, None) == upload


def plain_lines(text: str) -> set[str]:
    """Return the lines of a text that are not empty."""
    return {line.rstrip() for line in text.split("\n") if line.strip()}


def facts(text: str) -> set[str]:
    """Return the lines of a text that are neither headings nor fences."""
    return {line for line in plain_lines(text) if line[0] not in "#`"}


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
