"""A part of a page: pinned sections stay, then the newest lines of each section, as they fit.

Lines are added at the end of a section, so that of two lines the lower one is newer, and no history
is needed. A list item goes with the items below it; code and tables are kept or left out whole.
"""

from __future__ import annotations

from itertools import pairwise

from looseleaf.memory.sections import list_sections
from looseleaf.memory.units import NO_PARENT, find_units, split_lines
from looseleaf.prompt.assembly import Cut, Piece
from looseleaf.prompt.outputs import Text, format_block
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from looseleaf.memory.units import Unit

    Count = Callable[[str], int]


_LONGEST_FENCE = 2 * 64
_ATTEMPTS = 8  # tokens of parts do not add up to those of the whole
_CUT = " […]"
_LONGEST_WORD = 40  # not every language has spaces
_MOST_PER_UNIT = 16  # characters of one word, as a token
_LEAST_USE = 4  # a quarter of the room: a long line is cut if more stays empty
_LONGEST_NAME = 40
_MOST_NAMES, _MOST_CUTS = 4, 20  # sections that a note, or an explanation, names


def cut_page(piece: Piece, room: int, count: Count) -> Piece | None:
    """Return as much of a page as fits, in the order of the page, or None if not a line does."""
    item = piece.item
    if not isinstance(item, Text) or item.source is None:
        return None
    whole = piece.cut.whole if piece.cut else piece.text.partition("\n")[2].rpartition("\n")[0]
    selection = _Selection(whole, item.source.pinned, count)
    total = whole.count("\n") + (not whole.endswith("\n"))
    inner = room - count(format_block(item.source, "", part=_format_extent(total, total)))
    inner -= _LONGEST_FENCE
    for _ in range(_ATTEMPTS):
        if inner <= 0 or not selection.choose(inner):
            return None
        extent = _format_extent(selection.count_kept(), total)
        text = format_block(item.source, selection.render(), part=extent)
        excess = count(text) - room
        if excess <= 0:
            cut = Cut(extent, f"{extent} fit. {selection.describe()}", whole)
            return Piece(piece.directive, Text(text, item.source), text, cut)
        inner -= excess
    return None


def _format_extent(lines: int, total: int) -> str:
    return f"{lines:,} of {total:,} lines"


@value
class _Block:
    """Lines that are kept or left out together, and the headings that they are read under."""

    start: int
    end: int
    frames: tuple[tuple[int, int], ...] = ()  # as (start, end): lower headings, introductions
    kind: str = ""  # of a single unit


class _Section:
    """A section, or what stands above the first: its header, its blocks, and how many stay."""

    def __init__(self, name: str, lines: list[str], first_line: int, *, is_pinned: bool) -> None:
        self.name, self.lines, self.first_line = name, lines, first_line
        self.is_pinned = is_pinned
        units = find_units(lines)
        self.head_end = _find_head_end(name, units, len(lines))
        self.blocks = _build_blocks(units, self.head_end)
        self.reset()

    def reset(self) -> None:
        """Keep nothing."""
        self.is_open = self.is_closed = False
        self.kept = 0  # blocks, from the last
        self.frames: set[tuple[int, int]] = set()
        self.rest: dict[int, str] = {}  # the lines given of the block before those that are kept
        self.note_size = 0

    @property
    def is_whole(self) -> bool:
        """Whether all blocks are kept."""
        return self.kept == len(self.blocks)

    def next_block(self) -> _Block | None:
        """Return the newest block that is not kept."""
        return None if self.is_whole else self.blocks[-1 - self.kept]

    def dropped_lines(self) -> list[int]:
        """Return the numbers of the lines, not blank, that are left out, from 0."""
        kept = self.kept_lines()
        return [
            number for number, line in enumerate(self.lines) if number not in kept and line.strip()
        ]

    def kept_lines(self) -> set[int]:
        """Return the numbers of the lines that are given."""
        if not self.is_open:
            return set()
        spans = [(0, self.head_end), *self.frames]
        spans += [(block.start, block.end) for block in self.blocks[len(self.blocks) - self.kept :]]
        return {*self.rest, *(number for span in spans for number in range(*span))}

    def render(self) -> str:
        """Return the lines that are given, with a note where older ones stood."""
        if not self.is_open:
            return ""
        dropped = len(self.dropped_lines())
        parts = [*self.lines[: self.head_end], format_note(dropped, self.name) if dropped else ""]
        numbers = sorted(number for number in self.kept_lines() if number >= self.head_end)
        parts += [self.rest.get(number, self.lines[number]) for number in numbers]
        return "".join(parts)


def _find_head_end(name: str, units: Sequence[Unit], count: int) -> int:
    """Return the line after the header of a section and the words that introduce its list."""
    if not units:
        return count if name else 0
    head = 1 if name or units[0].kind == "heading" else 0
    following = units[head : head + 2]
    if [unit.kind for unit in following] == ["paragraph", "item"]:
        head += 1
    return units[head - 1].end if head else 0


def _build_blocks(units: Sequence[Unit], head_end: int) -> list[_Block]:
    parents = {unit.parent for unit in units}

    def is_frame(number: int) -> bool:
        unit = units[number]
        if unit.kind != "paragraph":
            return unit.kind == "heading" and number in parents
        above = unit.parent == NO_PARENT or units[unit.parent].kind == "heading"
        return above and number in parents

    blocks: list[_Block] = []
    for number, unit in enumerate(units):
        if unit.start < head_end or is_frame(number):
            continue
        if unit.parent != NO_PARENT and not is_frame(unit.parent) and blocks:
            last = blocks[-1]  # part of the list item above
            blocks[-1] = _Block(last.start, unit.end, last.frames)
            continue
        frames, parent = [], unit.parent
        while parent != NO_PARENT:
            frame = units[parent]
            if frame.start >= head_end:
                frames.append((frame.start, frame.end))
            parent = frame.parent
        blocks.append(_Block(unit.start, unit.end, tuple(frames), unit.kind))
    return blocks


class _Selection:
    """The choice of lines of one page, the same for the same page, room and pins."""

    def __init__(self, text: str, pinned: Iterable[str], count: Count) -> None:
        names = {name.strip().casefold() for name in pinned}
        sections = list_sections(text)
        bounds = [0, *(section.start for section in sections), len(text)]
        self.count = count
        self.sections: list[_Section] = []
        line = 0
        for name, (start, end) in zip(
            ("", *(section.name for section in sections)), pairwise(bounds), strict=True
        ):
            lines = split_lines(text[start:end])
            if lines:
                is_pinned = name.strip().casefold() in names
                self.sections.append(_Section(name, lines, line, is_pinned=is_pinned))
            line += len(lines)
        newest_first = self.sections[::-1]
        self.pinned = [section for section in newest_first if section.is_pinned]
        self.others = [section for section in newest_first if not section.is_pinned]
        self.room = 0

    def choose(self, room: int) -> bool:
        """Choose what fits; return whether a line of a section does.

        The headers of all sections stay if they leave half of the room to lines, and if all
        pinned lines fit beside them.
        """
        self._reset(room)
        heads = sum(map(self._measure_opening, self.sections))
        if heads <= room // 2:
            for section in self.sections:
                self._open(section)
            self._keep_newest(self.pinned)
        if heads > room // 2 or not all(section.is_whole for section in self.pinned):
            # A note names the sections of which nothing is given.
            self._reset(room)
            self.room -= self.count(self._format_omitted(self.sections))
            self._keep_newest(self.pinned)
        group = self.pinned
        if all(section.is_whole for section in self.pinned):
            group = self.others
            self._keep_newest(group)
        if self.room > room // _LEAST_USE:
            self._cut_one(group)
        return any(section.kept or section.rest for section in self.sections)

    def _reset(self, room: int) -> None:
        self.room = room
        for section in self.sections:
            section.reset()

    def _keep_newest(self, sections: Sequence[_Section]) -> None:
        """Keep the last block of each section, then the one before it, until the room ends."""
        pending = sections
        while pending:
            pending = [section for section in pending if self._keep_next(section)]

    def _keep_next(self, section: _Section) -> bool:
        """Keep the newest block of a section that is not kept; return whether more may follow."""
        block = section.next_block()
        cost = 0 if section.is_open else self._measure_opening(section)
        if block is not None:
            frames = set(block.frames) - section.frames
            spans = [(block.start, block.end), *frames]
            cost += sum(self.count(_join(section.lines, *span)) for span in spans)
        if section.is_closed or cost > self.room:
            section.is_closed = True
            return False
        if not section.is_open:
            self._open(section)
            cost -= self._measure_opening(section)
        self.room -= cost
        if block is not None:
            section.kept += 1
            section.frames.update(block.frames)
        if not section.is_whole:
            return True
        self.room += section.note_size
        section.note_size = 0
        return False

    def _measure_opening(self, section: _Section) -> int:
        """Measure the header of a section, and the note that older lines are left out."""
        return self.count(_join(section.lines, 0, section.head_end)) + self._measure_note(section)

    def _measure_note(self, section: _Section) -> int:
        return self.count(format_note(len(section.lines), section.name)) if section.blocks else 0

    def _open(self, section: _Section) -> None:
        section.is_open = True
        section.note_size = self._measure_note(section)
        self.room -= self._measure_opening(section)

    def _cut_one(self, sections: Sequence[_Section]) -> None:
        """Give a part of the first text that was too long, if most of the room stayed empty."""
        for section in sections:
            block = section.next_block()
            if block is None or block.kind not in ("paragraph", "item"):
                continue
            frames = set(block.frames) - section.frames
            cost = sum(self.count(_join(section.lines, *span)) for span in frames)
            cost += 0 if section.is_open else self._measure_opening(section)
            rest = _take_end(section.lines, block, self.room - cost, self.count)
            if not rest:
                continue
            section.is_open = True
            section.rest = rest
            section.frames.update(frames)
            return

    def count_kept(self) -> int:
        """Count the lines that are given, blank ones too."""
        return sum(len(section.kept_lines()) for section in self.sections)

    def render(self) -> str:
        """Return the lines that are given, with notes."""
        omitted = [section for section in self.sections if not section.is_open]
        note = self._format_omitted(omitted) if omitted else ""
        return note + "".join(section.render() for section in self.sections)

    def _format_omitted(self, sections: Sequence[_Section]) -> str:
        lines = sum(1 for section in sections for line in section.lines if line.strip())
        names = [_shorten(section.name) for section in sections if section.name]
        if sections is self.sections:  # the longest that the note can be
            names.sort(key=self.count, reverse=True)
        listed = ", ".join(names[:_MOST_NAMES])
        more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
        where = f" in {listed}{more}" if names else ""
        return f"[older lines left out: {lines:,}{where}]\n"

    def describe(self) -> str:
        """Say which lines are left out, and why."""
        parts = []
        for section in self.sections:
            dropped = section.dropped_lines()
            if dropped:
                first, last = dropped[0] + section.first_line, dropped[-1] + section.first_line
                where = f" in {_shorten(section.name)}" if section.name else ""
                pin = ", pinned" if section.is_pinned else ""
                parts.append(f"{len(dropped):,}{where} (lines {first + 1:,} to {last + 1:,}{pin})")
        more = f" and in {len(parts) - _MOST_CUTS:,} more" if len(parts) > _MOST_CUTS else ""
        pinned = [_shorten(section.name) for section in self.sections if section.is_pinned]
        rule = (
            f"Pinned sections ({', '.join(pinned[:_MOST_CUTS])}) stay, then the"
            if pinned
            else "The"
        )
        cuts = f" Older lines left out: {', '.join(parts[:_MOST_CUTS])}{more}." if parts else ""
        return f"{rule} newest lines of each section stay.{cuts}"


def format_note(lines: int, section: str) -> str:
    """State in a page how many of its lines are left out there."""
    where = f" in {_shorten(section)}" if section else ""
    return f"[older lines left out: {lines:,}{where}]\n"


def _shorten(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _join(lines: Sequence[str], start: int, end: int) -> str:
    return "".join(lines[start:end])


def _take_end(lines: Sequence[str], block: _Block, room: int, count: Count) -> dict[int, str]:
    """Return the last lines of a text that fit, by number, or the first words of one long line."""
    numbers = [number for number in range(block.start, block.end) if lines[number].strip()]
    taken: dict[int, str] = {}
    if len(numbers) > 1 and block.kind == "item":
        return taken
    for number in reversed(numbers):
        size = count(lines[number])
        if size > room:
            break
        taken[number] = lines[number]
        room -= size
    words = _take_words(lines[numbers[-1]], room, count) if not taken else ""
    return {numbers[-1]: words} if words else taken


def _take_words(line: str, room: int, count: Count) -> str:
    """Return the first words of a line, as many as fit, with a sign that there are more."""
    room -= count(_CUT + "\n")
    low, high = 0, min(len(line), max(room, 0) * _MOST_PER_UNIT)
    while low < high:
        middle = (low + high + 1) // 2
        if count(line[:middle]) <= room:
            low = middle
        else:
            high = middle - 1
    space = line.rfind(" ", max(low - _LONGEST_WORD, 0), low)
    words = line[: space if space > 0 else low]
    return f"{words}{_CUT}\n" if words.strip() else ""
