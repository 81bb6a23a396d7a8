"""Splitting a page that is far too large, without a model."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.features.upkeep.daily_task.gates import refuse_loss
from looseleaf.features.upkeep.daily_task.plan import CompactionPlan, plan_overflow
from tests.features.upkeep.daily_task.memories import build_memory
from tests.features.upkeep.daily_task.oracle import find_violations

DATE = "2026-04-28"
POINTER = "## Archived Memory Overflow"


def split(page: str, target: int = 8192, date: str = DATE) -> CompactionPlan:
    """Split a page, and check that nothing is lost."""
    plan = plan_overflow(page, target, date)
    assert plan is not None
    assert refuse_loss(page, plan) is None
    assert find_violations(page, plan.text, plan.archive) == []
    assert len(plan.text.encode()) <= max(target, 1024)
    return plan


def section(name: str, lines: int, newline: str = "\n") -> str:
    """Make a section of facts."""
    facts = "".join(
        f"- fact {number} of {name} is known and stays true{newline}" for number in range(lines)
    )
    return f"## {name}{newline}{newline}{facts}{newline}"


def headings(text: str) -> list[str]:
    """List the headings of a page."""
    return [line.strip() for line in text.split("\n") if line.startswith("#")]


def test_the_first_sections_that_fit_stay() -> None:
    """90 sections of 80 lines, one of them with other line ends: the rest is verbatim."""
    page = "# Agent Memory\n\nIntro.\n\n" + "".join(
        section(f"Section {number}", 80, "\r\n" if number == 45 else "\n")
        for number in range(1, 91)
    )
    plan = split(page)
    assert headings(plan.text) == ["# Agent Memory", "## Section 1", "## Section 2", POINTER]
    assert section("Section 45", 80, "\r\n") in plan.archive
    assert plan.archive.endswith(section("Section 90", 80))
    assert len(plan.removals) == 88
    assert "daily/2026/04/28.md" in plan.text


def test_a_small_section_after_a_large_one_stays() -> None:
    """Sections are taken in order while they fit; it is not a cut at the end."""
    page = "# M\n\n" + section("A", 120) + section("B", 1200) + section("C", 2)
    assert headings(split(page).text) == ["# M", "## A", "## C", POINTER]


def test_sections_go_with_those_they_stand_under() -> None:
    """A part of a section never stands under another heading than before."""
    page = "# M\n\n## A\n\na\n\n" + section("B", 1200) + "### Part of B\n\n- b\n\n## C\n\nc\n"
    assert headings(split(page).text) == ["# M", "## A", "## B", "## C", POINTER]


@pytest.mark.parametrize("lines", [300, 1200])
def test_a_page_is_not_left_nearly_empty(lines: int) -> None:
    """A title above one long section: the section is split, and most of the room is used."""
    plan = split("# Memory\n\n" + section("Facts", lines))
    assert len(plan.text.encode()) > 7_900
    assert "- fact 0 of Facts" in plan.text
    assert f"- fact {lines - 1} of Facts" in plan.archive


def test_no_heading_stays_without_what_it_is_above() -> None:
    """A section whose first paragraph is too large goes with its heading."""
    page = "# M\n\n## A\n\n" + "word " * 20_000 + "\n\n## B\n\nb\n"
    assert headings(split(page).text) == ["# M", "## B", POINTER]


@pytest.mark.parametrize(
    "page",
    [
        "# Only\n\n" + "".join(f"- fact {number} about it\n" for number in range(3000)),
        "".join(f"Paragraph {number} says it all.\n\n" for number in range(3000)),
        "## One\n\n"
        + "".join(f"Paragraph {number}.\n\n" for number in range(6000))
        + "## Two\n\nx\n",
        "# M\n\n" + "word " * 20_000 + "\n\nshort\n",
        "# M\n\n```\n" + "code = 1\n" * 9000 + "```\n\n- short\n",
    ],
)
def test_one_giant_section_is_split_by_paragraphs(page: str) -> None:
    """A list, paragraphs, one line, or code: the page fits afterwards, and never half a block."""
    plan = split(page)
    assert plan.text.count(POINTER) == 1
    assert plan.text.count("```") in (0, 2)


def test_the_pointer_is_merged_and_never_multiplied() -> None:
    """Day after day one section names the days, the newest by their pages."""
    page = "# M\n\n" + section("A", 1500)
    for day in range(1, 21):
        plan = split(page, date=f"2026-05-{day:02}")
        assert plan.text.count(POINTER) == 1
        assert POINTER not in plan.archive
        page = plan.text + "\n" + section(f"Day {day}", 1500)
    pointer = plan.text.partition(POINTER)[2]
    assert pointer.count("daily/2026/05/") == 7
    assert "and 13 earlier days since 2026-05-01" in pointer
    again = split(page, date="2026-05-20")
    assert again.text.partition(POINTER)[2] == pointer


def test_a_pointer_that_a_person_changed_is_theirs() -> None:
    """It is a section as any other."""
    page = f"# M\n\n{POINTER}\n\nI keep my own list here.\n\n" + section("A", 1500)
    assert "I keep my own list here." in split(page).text


def test_a_page_within_the_target_is_left_alone() -> None:
    """And a target is never below 1024 bytes."""
    assert plan_overflow("# M\n\n- a\n", 8192, DATE) is None
    assert plan_overflow("# M\n\n" + "- a\n" * 200, 10, DATE) is None


@given(st.integers(0, 10_000), st.integers(9_000, 60_000))
def test_any_memory_fits_afterwards(seed: int, size: int) -> None:
    """With tables, code, nested lists, many languages and CRLF."""
    split(build_memory(random.Random(seed), size))
