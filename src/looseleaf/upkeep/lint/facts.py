"""Facts that no longer hold, contradict each other, or stand in the wrong page."""

from __future__ import annotations

import re

from looseleaf.memory.day import parse_date
from looseleaf.times import DAY_SECONDS, format_date
from looseleaf.upkeep.lint.problem import LineChange, LintProblem, Move, PageEdit, archive_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.upkeep.lint.page import LintPage

STALE_DAYS = 90
MEMORY = "MEMORY.md"
_IDENTITY = ("SOUL.md", "USER.md", "RULES.md")
_KEY = re.compile(
    r"(?:[-*+]\s+)?(?:\*\*|__)?([^:*`\[\]|<>]{2,60}?)(?:\*\*|__)?:(?:\*\*|__)?\s+(\S.*)"
)
_DATE = re.compile(r"\b(\d{4}-\d{2}-\d{2})\b")
_PROGRESS = re.compile(
    r"\b(in progress|ongoing|wip|to-?do|pending|blocked|waiting|due|deadline|upcoming|tomorrow|"
    r"this week|next week|today|in arbeit|en cours|en curso|em andamento)\b|\[ \]",
    re.IGNORECASE,
)
_TASK_TITLE = re.compile(
    r"(current )?(tasks?|to-?dos?|next steps|in progress|this week|state|deadlines?)", re.IGNORECASE
)


def find_contradictions(page: LintPage) -> Iterator[LintProblem]:
    """Find `key: value` lines of one section that give a key two values."""
    values: dict[tuple[str, str], tuple[int, str]] = {}
    for number, text in page.prose:
        match = _KEY.match(text) if ": " in text else None
        if match is None or "//" in match[1] or len(match[1].split()) > 6:
            continue
        key = (page.section_of[number], match[1].strip().casefold())
        value = " ".join(match[2].casefold().split())
        earlier = values.get(key)
        values[key] = (number, value)
        if earlier is None or earlier[1] == value:
            continue
        yield LintProblem(
            rule="contradiction",
            file=page.file,
            layer=page.layer,
            line=number + 1,
            message=f"{match[1].strip()!r} has another value in line {earlier[0] + 1}",
            advice="Keep the later line, and move the earlier one to the journal.",
            edit=archive_lines(page.lines, earlier[0], earlier[0] + 1),
        )


def find_stale_entries(page: LintPage, now: float) -> Iterator[LintProblem]:
    """Find lines that speak of work in progress, with a date long ago."""
    if "20" not in page.text:
        return
    limit = format_date(now - STALE_DAYS * DAY_SECONDS)
    for number, text in page.prose:
        if "20" not in text:
            continue
        dates = [date for date in _DATE.findall(text) if parse_date(date) is not None]
        if dates and max(dates) < limit and _PROGRESS.search(text):
            yield LintProblem(
                rule="stale_entry",
                file=page.file,
                layer=page.layer,
                line=number + 1,
                message=f"was in progress on {max(dates)}, more than {STALE_DAYS} days ago",
                advice="Move the line to the journal.",
                edit=archive_lines(page.lines, number, number + 1),
            )


def find_misplaced_tasks(page: LintPage) -> Iterator[LintProblem]:
    """Find sections of tasks in pages about identity; they belong in MEMORY.md."""
    if page.file not in _IDENTITY:
        return
    for position, section in enumerate(page.sections):
        start, end = page.section_lines(position)
        body = "".join(page.lines[start + 1 : end])
        has_facts = any(line.strip() and not line.startswith("<!--") for line in body.split("\n"))
        if not _TASK_TITLE.fullmatch(section.name.strip()) or not has_facts:
            continue
        text = "".join(page.lines[start:end])
        message = f"the section {section.name!r} is about work, and {page.file} is about identity"
        yield LintProblem(
            rule="wrong_page",
            file=page.file,
            layer=page.layer,
            line=section.line,
            message=message,
            advice=f"Move the section to {MEMORY}.",
            edit=PageEdit((LineChange(start, end),), (Move(MEMORY, text),)),
        )
