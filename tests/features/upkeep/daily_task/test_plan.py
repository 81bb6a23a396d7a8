"""A plan is a partition of the page, whatever is chosen."""

from __future__ import annotations

import random

from hypothesis import example, given
from hypothesis import strategies as st

from looseleaf.features.upkeep.daily_task.gates import refuse_loss
from looseleaf.features.upkeep.daily_task.plan import PageParts, plan_answer, plan_selection
from tests.features.upkeep.daily_task.memories import build_memory
from tests.features.upkeep.daily_task.oracle import find_violations

PAGE = """# Agent Memory

## State
- Calendar: in progress
- Audit done 2026-02-20

## Site
- WordPress at /var/www
  - theme `flavor`
- Docs v0.9.11

Never do this:

- rm -rf
- drop tables
"""
LINES = st.sampled_from(
    ["# A", "## B", "## B", "- x", "- x", "  - y", "text:", "and on", "Text 1", "```", "| a |", ""]
)


def test_the_lines_that_stay_keep_what_they_stand_under() -> None:
    """Headings and introductions stay with them, in the order of the page."""
    plan = plan_answer(PageParts(PAGE), "- drop tables\n  - theme `flavor`\n")
    assert plan.text == (
        "# Agent Memory\n\n## Site\n- WordPress at /var/www\n  - theme `flavor`\n\n"
        "Never do this:\n\n- drop tables\n"
    )
    assert "#### From: Site\n\n- Docs v0.9.11\n" in plan.archive
    assert "#### From: Site > Never do this:\n\n- rm -rf\n" in plan.archive
    assert plan.archive.startswith("## State\n- Calendar: in progress\n")
    assert find_violations(PAGE, plan.text, plan.archive) == []
    assert (plan.kept_lines, plan.archived_lines) == (6, 5)


def test_the_ledger_names_lines_and_sections() -> None:
    """By the numbers that an editor shows."""
    plan = plan_answer(PageParts(PAGE), "# Agent Memory\n## Site\n- Docs v0.9.11\n")
    entries = [(removal.line, removal.lines, removal.section) for removal in plan.removals]
    assert entries[0] == (3, 4, "State")
    assert (8, 1, "Site") in entries
    lines = PAGE.split("\n")
    for removal in plan.removals:
        assert removal.text.split("\n")[0] == lines[removal.line - 1]


def test_the_same_line_in_two_sections_is_told_apart() -> None:
    """The one stays that stands under the heading of the answer."""
    page = "# M\n## A\n- done\n## B\n- done\n- more\n"
    plan = plan_answer(PageParts(page), "# M\n## B\n- done\n- more\n")
    assert plan.text == "# M\n## B\n- done\n- more\n"
    assert plan.archive == "## A\n- done\n"


def test_lines_that_the_page_does_not_have_are_named() -> None:
    """A fence or a rule is no line of its own, and blank ends do not count."""
    plan = plan_answer(PageParts(PAGE), "## Site  \n- Docs v0.9.12\n```\n---\n")
    assert plan.foreign_lines == ("- Docs v0.9.12",)


def test_code_without_an_end_does_not_swallow_the_journal() -> None:
    """The archive closes it."""
    plan = plan_selection(PageParts("# M\n\n- a\n\n```sh\nrun\n"), {0, 1})
    assert plan.archive == "```sh\nrun\n```\n"


@example(["```", "# A", ""], set(), False)  # code without an end, in the archive with one
@example(["```", "# A", "", ""], set(), True)
@given(st.lists(LINES, max_size=30), st.sets(st.integers(0, 30)), st.booleans())
def test_any_selection_is_a_partition(lines: list[str], selection: set[int], crlf: bool) -> None:  # noqa: FBT001
    """Nothing is lost, doubled, invented or put into another order."""
    page = ("\r\n" if crlf else "\n").join(lines)
    parts = PageParts(page)
    chosen = {number for number in selection if number < len(parts.units)}
    plan = plan_selection(parts, chosen)
    assert refuse_loss(page, plan) is None
    assert find_violations(page, plan.text, plan.archive) == []


@given(st.integers(0, 10_000), st.lists(st.integers(0, 400)))
def test_any_answer_is_a_partition(seed: int, numbers: list[int]) -> None:
    """Lines of the page and foreign ones, in any order and number."""
    page = build_memory(random.Random(seed), 3000)
    lines = page.split("\n")
    answer = "\n".join(lines[number] if number < len(lines) else "- made up" for number in numbers)
    plan = plan_answer(PageParts(page), answer)
    assert refuse_loss(page, plan) is None
    assert find_violations(page, plan.text, plan.archive) == []


@given(st.integers(0, 10_000))
def test_an_answer_with_every_line_changes_nothing(seed: int) -> None:
    """The page stays byte for byte."""
    page = build_memory(random.Random(seed), 2000)
    plan = plan_answer(PageParts(page), page)
    assert plan.text == page
    assert not plan.changes_page
    assert not plan.archive
