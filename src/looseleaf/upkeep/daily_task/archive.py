"""The lines that leave a page: collected in runs, named for the ledger, written for the journal."""

from __future__ import annotations

from looseleaf.memory.sections import end_line
from looseleaf.upkeep.daily_task.lines import size_of, split_lines
from looseleaf.upkeep.daily_task.pointer import find_pointers
from looseleaf.upkeep.daily_task.units import NO_PARENT, find_units
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence, Set

CONTEXT_MARK = "#### From: "  # then the titles that stay in the page, above archived lines
_LONGEST_TITLE = 120


@value
class Removal:
    """Lines that leave the page, as the ledger has them.

    Fields:
        line: The number of the first of these lines in the page, from 1.
        lines: How many lines leave here, blank ones too.
        section: The headings that the lines stood under, outermost first.
        text: The lines.
    """

    line: int
    lines: int
    section: str
    text: str


class PageParts:
    """A page, its units and its pointer sections, found once for all plans of the page."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = split_lines(text)
        self.units = find_units(self.lines)
        self.pointer, self.pointer_units = find_pointers(self.lines, self.units)

    def unit_text(self, number: int) -> str:
        """Return the lines of a unit."""
        unit = self.units[number]
        return "".join(self.lines[unit.start : unit.end])

    def unit_size(self, number: int) -> int:
        """Return the bytes of a unit."""
        return size_of(self.unit_text(number))

    def ancestors(self, number: int) -> list[int]:
        """Return the headings and list items above a unit, innermost first."""
        numbers = []
        parent = self.units[number].parent
        while parent != NO_PARENT:
            numbers.append(parent)
            parent = self.units[parent].parent
        return numbers


class _Run:
    """Units that go and follow each other under the same titles."""

    def __init__(self, start: int, end: int, section: str, context: str) -> None:
        self.start, self.end = start, end  # lines of the page
        self.section, self.context = section, context


def collect_removals(page: PageParts, stays: Set[int]) -> tuple[tuple[Removal, ...], str]:
    """Collect the runs of units that go, and the archive: each run under the titles that stay."""
    runs = _find_runs(page, stays)
    removals: list[Removal] = []
    parts: list[str] = []
    context = ""
    for run in runs:
        text = "".join(page.lines[run.start : run.end])
        removals.append(Removal(run.start + 1, run.end - run.start, run.section, text))
        if run.context != context and run.context:
            parts.append(f"{_build_separator(parts)}{CONTEXT_MARK}{run.context}\n\n")
        else:
            parts.append(_build_separator(parts))
        context = run.context
        parts.append(end_line(text))
    fence = _open_fence(page, stays)
    if fence:
        parts.append(f"{fence}\n")  # else the next lines of the journal would be part of the code
    return tuple(removals), "".join(parts)


def _find_runs(page: PageParts, stays: Set[int]) -> list[_Run]:
    runs: list[_Run] = []
    by_parent: dict[int, tuple[str, str]] = {}
    for number, unit in enumerate(page.units):
        if number in stays:
            continue
        titles = by_parent.get(unit.parent)
        if titles is None or unit.kind == "heading":
            titles = _format_section(page, number), _format_context(page, number, stays)
            if unit.kind != "heading":
                by_parent[unit.parent] = titles
        section, context = titles
        last = runs[-1] if runs else None
        if last and last.end == unit.start and (last.section, last.context) == titles:
            last.end = unit.end
        else:
            runs.append(_Run(unit.start, unit.end, section, context))
    return runs


def ends_blank(text: str) -> bool:
    return text.endswith(("\n\n", "\n\r\n")) or not text.strip()


def _build_separator(parts: Sequence[str]) -> str:
    has_none = bool(parts) and not ends_blank(parts[-1])
    return "\n" * has_none


def _open_fence(page: PageParts, stays: Set[int]) -> str:
    """Return the fence that closes archived code at the end of a page, or "" if none is missing."""
    last = len(page.units) - 1
    if last in stays or last < 0 or page.units[last].kind != "fence":
        return ""
    lines = page.unit_text(last).strip().split("\n")
    mark = lines[0].lstrip(" \t-*+0123456789.)")
    fence = mark[: len(mark) - len(mark.lstrip(mark[:1]))]
    end = lines[-1].strip()
    is_closed = len(lines) > 1 and end.startswith(fence) and not end.strip(fence[:1])
    return "" if is_closed else fence


def _format_context(page: PageParts, number: int, stays: Set[int]) -> str:
    """Join the titles of the ancestors of a unit that stay in the page."""
    ancestors = [ancestor for ancestor in page.ancestors(number) if ancestor in stays]
    return " > ".join(_list_titles(page, ancestors))


def _format_section(page: PageParts, number: int) -> str:
    innermost = [number] if page.units[number].kind == "heading" else []
    return " > ".join(_list_titles(page, [*innermost, *page.ancestors(number)]))


def _list_titles(page: PageParts, numbers: Sequence[int]) -> list[str]:
    """Return the titles of units, outermost first; a long title is left out, never shortened."""
    titles = []
    for number in reversed(numbers):
        unit = page.units[number]
        title = unit.title if unit.level != 1 else ""  # the title of the page says nothing
        if unit.kind == "item":
            title = page.lines[unit.start].strip().lstrip("-*+ ").strip()
        if title and len(title) <= _LONGEST_TITLE:
            titles.append(title)
    return titles
