"""Overflow: a page far over its budget is split without a model, by whole sections, verbatim."""

from __future__ import annotations

from looseleaf.upkeep.daily_task.archive import PageParts
from looseleaf.upkeep.daily_task.lines import size_of
from looseleaf.upkeep.daily_task.plan import plan_selection
from looseleaf.upkeep.daily_task.units import NO_PARENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from looseleaf.upkeep.daily_task.plan import CompactionPlan

LEAST_TARGET = 1024


def plan_overflow(text: str, target: int, date: str) -> CompactionPlan | None:
    """Plan the split of a page to a target size, or None if the page is within it.

    The text above the first heading and the first section stay, then every section that still
    fits, in order. If these two alone are too large, their paragraphs and list items are
    chosen in the same way.
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
        always = _select_units(page, always, sizes, room)
    selection = set(always)
    size_so_far = sum(sizes[number] for number in always)
    for section in sections[2:]:
        parent = page.units[section[0]].parent
        size = sum(sizes[number] for number in section)
        if size_so_far + size <= room and (parent == NO_PARENT or parent in selection):
            selection.update(section)
            size_so_far += size
    return selection


def _select_units(
    page: PageParts, numbers: Sequence[int], sizes: dict[int, int], room: int
) -> list[int]:
    """Choose the units of a section that is too large: each that fits under a parent that stays."""
    selection: list[int] = []
    stays: set[int] = set()
    size_so_far = 0
    for number in numbers:
        parent = page.units[number].parent
        if size_so_far + sizes[number] <= room and (parent == NO_PARENT or parent in stays):
            selection.append(number)
            stays.add(number)
            size_so_far += sizes[number]
    return selection


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
