"""The plan of a compaction: which lines stay in the page, and which go to the journal.

A plan is a partition of the lines of the page. Its texts are put together from these lines alone,
whatever a model answered: the model chooses, and never writes.
"""

from __future__ import annotations

from collections import Counter

from looseleaf.memory.sections import newline_of
from looseleaf.upkeep.daily_task.archive import PageParts, Removal, collect_removals, ends_blank
from looseleaf.upkeep.daily_task.lines import has_word
from looseleaf.upkeep.daily_task.units import NO_PARENT, find_units
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence, Set

    from looseleaf.upkeep.daily_task.pointer import Pointer
    from looseleaf.upkeep.daily_task.units import Unit


@value(kw_only=True)
class CompactionPlan:
    """The result of a compaction: the new page, and the archive.

    Fields:
        text: The page afterwards.
        archive: The text that goes to the journal.
        removals: The lines that go there.
        pointer_lines: Lines of the page that the program wrote itself, and may replace.
        pointer_text: The lines that replace them, or "" if they stay.
        kept_lines: How many lines that are not blank stay.
        archived_lines: How many lines that are not blank go.
        foreign_lines: Lines of the answer that the page does not have.
    """

    text: str
    archive: str
    removals: tuple[Removal, ...]
    pointer_lines: str = ""
    pointer_text: str = ""
    kept_lines: int = 0
    archived_lines: int = 0
    foreign_lines: tuple[str, ...] = ()

    @property
    def changes_page(self) -> bool:
        """Whether lines leave the page."""
        return bool(self.removals)


def plan_selection(
    page: PageParts,
    selection: Set[int],
    *,
    pointer: Pointer | None = None,
    foreign_lines: Iterable[str] = (),
) -> CompactionPlan:
    """Build a plan from the units that stay; with a pointer, old pointers are replaced."""
    stays = set(selection)
    for number in selection:
        stays.update(page.ancestors(number))
    if pointer is None:
        stays |= page.pointer_units
    else:
        stays -= page.pointer_units
    text = _build_page_text(page, stays, pointer)
    removals, archive = collect_removals(page, stays | page.pointer_units)
    pointer_lines = "".join(page.unit_text(number) for number in sorted(page.pointer_units))
    archive_count = _count(removal.text for removal in removals)
    pointer_count = _count([pointer_lines]) if pointer is not None else 0
    rest_count = _count([page.text]) - archive_count - pointer_count
    return CompactionPlan(
        text=text,
        archive=archive,
        removals=removals,
        pointer_lines=pointer_lines if pointer is not None else "",
        pointer_text=pointer.text() if pointer is not None else "",
        kept_lines=rest_count,
        archived_lines=archive_count,
        foreign_lines=tuple(foreign_lines),
    )


def _count(texts: Iterable[str]) -> int:
    return sum(1 for text in texts for line in text.split("\n") if line.strip())


def _build_page_text(page: PageParts, stays: Set[int], pointer: Pointer | None) -> str:
    first = page.units[0].start if page.units else len(page.lines)
    newline = newline_of(page.text)
    parts = ["".join(page.lines[:first])]
    previous = NO_PARENT
    for number in sorted(stays):
        # A paragraph must not become part of the list item that now stands above it.
        is_apart = number == previous + 1 or not parts[-1] or ends_blank(parts[-1])
        if not is_apart and ends_blank(page.unit_text(number - 1)):
            parts.append(newline)
        parts.append(page.unit_text(number))
        previous = number
    text = "".join(parts)
    if pointer is None:
        return text
    above = text.rstrip("\r\n \t")
    return f"{above}{newline}{newline}{pointer.text(newline)}" if above else pointer.text(newline)


def plan_answer(page: PageParts, persistent: str) -> CompactionPlan:
    """Plan the choice of a model: the units with a line in the persistent part of the answer."""
    answer_lines = persistent.split("\n")
    sections = _list_headings(answer_lines)
    totals = Counter(line.rstrip() for line in answer_lines if line.strip())
    by_section = Counter(
        (sections[number], line.rstrip())
        for number, line in enumerate(answer_lines)
        if line.strip()
    )
    matches = _match_lines(page, totals, by_section)
    selection = {
        number for number, unit in enumerate(page.units) if _is_chosen(page, unit, matches)
    }
    page_lines = {line.rstrip() for line in page.lines}
    foreign = [
        line.rstrip()
        for line in answer_lines
        if line.strip() and has_word(line) and line.rstrip() not in page_lines
    ]
    return plan_selection(page, selection, foreign_lines=foreign)


def _match_lines(
    page: PageParts, totals: Counter[str], by_section: Counter[tuple[str, str]]
) -> set[int]:
    """Find the lines of the page that the answer has: in the same section first, then anywhere."""
    sections = _list_headings(page.lines)
    matches: set[int] = set()
    rest = []
    for number, line in enumerate(page.lines):
        text = line.rstrip()
        if not text:
            continue
        key = (sections[number], text)
        if by_section[key] > 0 and totals[text] > 0:
            by_section[key] -= 1
            totals[text] -= 1
            matches.add(number)
        else:
            rest.append((number, text))
    for number, text in rest:
        if totals[text] > 0:
            totals[text] -= 1
            matches.add(number)
    return matches


def _is_chosen(page: PageParts, unit: Unit, matches: Set[int]) -> bool:
    numbers = range(unit.start, unit.end)
    significant = [number for number in numbers if has_word(page.lines[number])]
    if significant:
        return any(number in matches for number in significant)
    return all(number in matches for number in numbers if page.lines[number].strip())


def _list_headings(lines: Sequence[str]) -> list[str]:
    """List, for every line, the heading above it."""
    sections = [""] * len(lines)
    units = find_units(lines)
    heading = ""
    for unit in units:
        if unit.kind == "heading":
            heading = lines[unit.start].rstrip()
        for number in range(unit.start, unit.end):
            sections[number] = heading
    return sections
