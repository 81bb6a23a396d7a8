"""Sizes and ages: sections that should be pages, pages over their budget or past their review."""

from __future__ import annotations

import re

from looseleaf.times import DAY_SECONDS
from looseleaf.upkeep.lint.problem import LineChange, LintProblem, Move, PageEdit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.memory.registry import FileRegistry
    from looseleaf.upkeep.lint.page import LintPage

LARGE_SECTION = 50  # lines
REVIEW_DAYS = {"SOUL.md": 92, "MEMORY.md": 31}  # quarterly and monthly
_NOT_SLUG = re.compile(r"[^a-z0-9]+")


def find_large_sections(page: LintPage) -> Iterator[LintProblem]:
    """Find sections of MEMORY.md that should be a page of their own."""
    if page.file != "MEMORY.md":
        return
    for position, section in enumerate(page.sections):
        start, end = page.section_lines(position)
        body = page.lines[start + 1 : end]
        count = sum(1 for line in body if line.strip())
        if count < LARGE_SECTION:
            continue
        name = f"{_NOT_SLUG.sub('-', section.name.lower()).strip('-') or 'section'}.md"
        pointer = ("\n", f"- See [{name}]({name}).\n", "\n")
        edit = PageEdit(
            (LineChange(start + 1, end, pointer),), (Move(name, "".join(page.lines[start:end])),)
        )
        yield LintProblem(
            rule="oversized_section",
            file=page.file,
            layer=page.layer,
            line=section.line,
            message=f"the section {section.name!r} has {count} lines",
            advice=f"Move the section to {name}, and leave a link.",
            edit=edit,
        )


def find_over_budget(page: LintPage, registry: FileRegistry) -> Iterator[LintProblem]:
    """Find pages with more words or bytes than the registry allows."""
    if registry.get(page.file) is None:
        return
    for warning in registry.size_warnings(page.file, page.text.encode()):
        advice = "Prune the page, or let looseleaf upkeep run move what is old to the journal."
        message = warning.removeprefix(f"{page.file} ")
        yield LintProblem(
            rule="over_budget",
            file=page.file,
            layer=page.layer,
            line=0,
            message=message,
            advice=advice,
        )


def find_review_due(page: LintPage, now: float) -> Iterator[LintProblem]:
    """Find core pages that nobody changed since their review was due."""
    days = REVIEW_DAYS.get(page.file, 0)
    age = int((now - page.updated) / DAY_SECONDS)
    if days and page.updated and age > days:
        message = f"was last changed {age} days ago; a review is due every {days} days"
        advice = "Read the page, and correct or confirm what it says."
        yield LintProblem(
            rule="review_due",
            file=page.file,
            layer=page.layer,
            line=0,
            message=message,
            advice=advice,
        )
