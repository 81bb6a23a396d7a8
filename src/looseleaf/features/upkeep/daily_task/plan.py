"""The plan of a compaction: which lines stay in the page, and which go to the journal.

A plan is a partition of the lines of the page. Its texts are put together from these lines alone,
whatever a model answered: the model chooses, and never writes.
"""

from __future__ import annotations

import re
from collections import Counter

from looseleaf.memory.day import FOLDER, Day, day_of, parse_date
from looseleaf.memory.sections import end_line, newline_of
from looseleaf.memory.units import (
    NO_PARENT,
    find_units,
    has_word,
    size_of,
    split_lines,
)
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence, Set

    from looseleaf.memory.units import Unit


# The one section of MEMORY.md that says to which days of the journal sections were moved.


TITLE = "Archived Memory Overflow"
_NAMED_DAYS = 7
_DAY_FILE = rf"{FOLDER}/\d{{4}}/\d{{2}}/\d{{2}}\.md"
_SENTENCE = re.compile(
    rf"Sections of this page were moved verbatim to the journal: ({_DAY_FILE}(?:, {_DAY_FILE})*)"
    r"(?: and (\d+) earlier days? since (\d{4}-\d{2}-\d{2}))?\. Search finds them\."
)


@value
class Pointer:
    """The days of the journal that hold archived sections: the newest by name, a count of others.

    Fields:
        days: The newest days, newest first.
        earlier: The number of earlier days.
        since: The first of the earlier days, or "" if there are none.
    """

    days: tuple[str, ...] = ()
    earlier: int = 0
    since: str = ""

    def with_day(self, date: str) -> Pointer:
        """Return the pointer with one more day."""
        return self.merge(Pointer((date,)))

    def merge(self, pointer: Pointer) -> Pointer:
        """Return one pointer for the days of two."""
        days = sorted({*self.days, *pointer.days}, reverse=True)
        newest, surplus = days[:_NAMED_DAYS], days[_NAMED_DAYS:]
        starts = [start for start in (self.since, pointer.since, *surplus) if start]
        earlier = self.earlier + pointer.earlier + len(surplus)
        return Pointer(tuple(newest), earlier, min(starts) if earlier else "")

    def text(self, newline: str = "\n") -> str:
        """Write the section, with its heading."""
        files = ", ".join(_parse_day(date).filename for date in self.days)
        plural = "day" if self.earlier == 1 else "days"
        rest = f" and {self.earlier} earlier {plural} since {self.since}" if self.earlier else ""
        sentence = f"Sections of this page were moved verbatim to the journal: {files}{rest}."
        return f"## {TITLE}{newline}{newline}{sentence} Search finds them.{newline}"


NO_POINTER = Pointer()


def _parse_day(date: str) -> Day:
    day = parse_date(date)
    if day is None:
        raise ValueError(f"{date!r} is not a day")
    return day


def find_pointers(lines: Sequence[str], units: Sequence[Unit]) -> tuple[Pointer, frozenset[int]]:
    """Find the pointer sections of a page, as one, and the numbers of their units.

    A pointer section that a person has edited counts as an ordinary section.
    """
    pointer = NO_POINTER
    numbers: set[int] = set()
    for number, unit in enumerate(units[:-1]):
        if unit.kind != "heading" or unit.level != 2 or unit.title != TITLE:
            continue
        is_alone = number + 2 == len(units) or units[number + 2].kind == "heading"
        body = " ".join("".join(lines[units[number + 1].start : units[number + 1].end]).split())
        section = _parse(body) if is_alone else None
        if section is not None:
            pointer = pointer.merge(section)
            numbers.update((number, number + 1))
    return pointer, frozenset(numbers)


def _parse(sentence: str) -> Pointer | None:
    match = _SENTENCE.fullmatch(sentence)
    if match is None:
        return None
    days = [day_of(name) for name in match[1].split(", ")]
    if None in days or (match[3] and parse_date(match[3]) is None):
        return None
    return Pointer(_sort_dates(days), int(match[2] or 0), match[3] or "")


def _sort_dates(days: Iterable[Day | None]) -> tuple[str, ...]:
    return tuple(sorted({str(day) for day in days}, reverse=True))


# The lines that leave a page: collected in runs, named for the ledger, written for the journal.


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


# Overflow: a page far over its budget is split without a model, by whole sections, verbatim.


LEAST_TARGET = 1024


def plan_overflow(text: str, target: int, date: str) -> CompactionPlan | None:
    """Plan the split of a page to a target size, or None if the page is within it.

    The text above the first heading and the first section stay, then every section that still
    fits, in order. If these two alone are too large, their paragraphs and list items are
    chosen in the same way; and so are those of later sections if the page would be half empty.
    """
    target = max(target, LEAST_TARGET)
    if size_of(text) <= target:
        return None
    page = PageParts(text)
    pointer = page.pointer.with_day(date)
    room = target - size_of(pointer.text("\r\n")) - len("\r\n\r\n")
    selection = _select(page, room)
    plan = plan_selection(page, selection, pointer=pointer)
    return plan if plan.changes_page else None


def _select(page: PageParts, room: int) -> set[int]:
    """Choose the units that stay."""
    sections = _group_units(page)
    sizes = {number: page.unit_size(number) for number in range(len(page.units))}
    always = [number for section in sections[:2] for number in section]
    if sum(sizes[number] for number in always) > room:
        always = _select_units(page, always, sizes, room, frozenset())
    selection = set(always)
    size_so_far = sum(sizes[number] for number in always)
    for section in sections[2:]:
        parent = page.units[section[0]].parent
        size = sum(sizes[number] for number in section)
        if size_so_far + size <= room and (parent == NO_PARENT or parent in selection):
            selection.update(section)
            size_so_far += size
    for section in sections[2:]:
        if size_so_far >= room // 2:
            break
        if section[0] not in selection:
            units = _select_units(page, section, sizes, room - size_so_far, selection)
            if len(units) > 1:  # a heading alone says nothing
                selection.update(units)
                size_so_far += sum(sizes[number] for number in units)
    return selection


def _select_units(
    page: PageParts,
    numbers: Sequence[int],
    sizes: dict[int, int],
    room: int,
    selection: Set[int],
) -> list[int]:
    """Choose the units of a section that is too large: each that fits under a parent that stays."""
    units: list[int] = []
    stays = set(selection)
    size_so_far = 0
    for number in numbers:
        parent = page.units[number].parent
        if size_so_far + sizes[number] <= room and (parent == NO_PARENT or parent in stays):
            units.append(number)
            stays.add(number)
            size_so_far += sizes[number]
    return units


def _group_units(page: PageParts) -> list[list[int]]:
    """Group the units: those above the first heading, then each heading with what follows it."""
    sections: list[list[int]] = [[]]
    for number, unit in enumerate(page.units):
        if number in page.pointer_units:
            continue
        if unit.kind == "heading":
            sections.append([])
        sections[-1].append(number)
    return sections
