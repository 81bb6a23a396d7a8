"""The one section of MEMORY.md that says to which days of the journal sections were moved."""

from __future__ import annotations

import re

from looseleaf.memory.day import FOLDER, Day, day_of, parse_date
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from looseleaf.upkeep.daily_task.units import Unit

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
