"""What is said twice: lines that are the same but for case, spaces, punctuation and bullet.

Lint finds such lines in a page, and an append adds only what its section does not say already.
"""

from __future__ import annotations

import re

from looseleaf.memory.sections import find_section, list_sections
from looseleaf.memory.units import NO_PARENT, find_units, has_word, split_lines
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from looseleaf.memory.units import Unit


_PROBE = ("- item\n", "\n", "Text.\n")  # to find out where additions stand
LEAST_CHARACTERS = 12  # of a line that counts as a fact where lines are compared loosely
_LEAST_WORDS, _MOST_WORDS = 5, 60
_LONGEST_SECTION = 200_000  # characters; a longer section is not compared
_MOST_NOTES = 5
_LONGEST_QUOTE = 80
_LONG_LINE = 60  # characters; a shorter line of a paragraph may be half a sentence
_BULLET = re.compile(r"\s*[-*+]\s+")  # of a numbered list, the number says something
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_WORD = re.compile(r"[^\W_]+")
# Signs around a word that do not change what is said. Others do: `!x`, `-5`, `C++`, `why?`, `[ ]`.
_BEFORE, _AFTER = "\"'“‘«„`", ".,;:!…\"'”’»“`"
# Words that reverse a sentence: lines that differ in one of them say different things.
_REVERSING = frozenset(
    {
        "not", "no", "never", "always", "only", "without", "unless", "except", "but", "off", "on",
        "none", "nicht", "nie", "kein", "keine", "ohne", "ne", "pas", "jamais", "sans", "nunca",
        "sin", "não", "sem", "non", "mai", "senza",
    }
)  # fmt: skip


def fold_line(line: str) -> str:
    """Return what a line says: without bullet, case, spaces and the punctuation around words."""
    text = _BULLET.sub("", line, count=1).casefold()
    if "**" in text or "__" in text:
        text = _EMPHASIS.sub(r"\2", text)
    return " ".join(map(_fold_word, text.split()))


def _fold_word(word: str) -> str:
    return word.lstrip(_BEFORE).rstrip(_AFTER) if has_word(word) else word


@value
class Repeat:
    """A line that says again what an earlier line says, or all but one word of it."""

    first: int  # the number of the earlier line
    word: str = ""  # the word that differs, and the earlier line's
    earlier_word: str = ""


class SaidLines:
    """What the lines of one section say; numbers are those that the caller gives."""

    def __init__(self) -> None:
        self._first_lines: dict[str, int] = {}
        self._variants: dict[int, tuple[int, str]] = {}

    def add(self, number: int, text: str) -> Repeat | None:
        """Add a line; return the earlier line that says the same, or nearly, if there is one."""
        key_text = fold_line(text)
        first = self._first_lines.setdefault(key_text, number)
        return Repeat(first) if first != number else self._find_variant(number, key_text)

    def _find_variant(self, number: int, key_text: str) -> Repeat | None:
        """Compare a line with the earlier lines that differ from it in one word.

        Each line is entered once for every word that could differ, under the hash of its others.
        """
        words = set(_WORD.findall(key_text))
        if not _LEAST_WORDS <= len(words) <= _MOST_WORDS:
            return None
        total = 0
        for word in words:
            total ^= hash(word)
        for word in sorted(words):
            if not _may_differ(word):
                continue
            earlier = self._variants.setdefault(total ^ hash(word), (number, word))
            if earlier[0] != number and earlier[1] != word:
                return Repeat(earlier[0], word, earlier[1])
        return None


# Appending: a text without the parts that stand in its section already.


@value
class Addition:
    """What of an addition is new, None if nothing is, and notes on the rest for its writer."""

    text: str | None
    notes: tuple[str, ...] = ()


@value
class _Statement:
    """A list item with what is below it, or a paragraph: its lines, and what it says."""

    start: int
    end: int
    parent: int
    key: str  # "" if it is not compared
    is_item: bool


def screen_addition(
    section_text: str, addition: str, *, section: str = "", first_line: int = 1
) -> Addition:
    """Return an addition to the end of a section without what stands in the section already.

    Lines are compared with those in the same place: in the section, and below the lower heading or
    the introduction that the addition would come below. `first_line` is the number of the
    section's first line in its page, from 1.
    """
    if len(section_text) > _LONGEST_SECTION or not _may_repeat(section_text, addition):
        return Addition(addition)
    said = _SectionLines(split_lines(section_text), section, first_line)
    new_lines = split_lines(addition)
    kept = list(new_lines)
    skipped: list[str] = []
    notes: list[str] = []
    for block in _list_new_blocks(new_lines):
        place = said.find(block)
        if place:
            kept[block.start : block.end] = [""] * (block.end - block.start)
            skipped.append(f'"{_quote(new_lines[block.start])}" ({place})')
        else:
            notes += said.compare(block, new_lines[block.start])
    if skipped:
        notes.insert(0, f"Not added, since it is there already: {_join_some(skipped)}.")
    text = "".join(kept)
    is_new = text.strip() or not skipped
    return Addition(text if is_new else None, tuple(notes[: _MOST_NOTES + 1]))


class _SectionLines:
    """What a section says, and where an addition to its end would stand."""

    def __init__(self, lines: Sequence[str], section: str, first_line: int) -> None:
        self.where, self.first_line = f"section {section}, " if section else "", first_line
        self.count = len(lines)
        self.numbers: dict[tuple[int, str], int] = {}
        self.nearly = SaidLines()
        units = find_units([*lines, *_PROBE])
        self.item_parent, self.text_parent = (unit.parent for unit in (units * 2)[-2:])
        if len(units) < len(_PROBE) - 1 or units[-2].start != len(lines):
            return  # code or a comment that never ends: what is added is part of it
        for block in _list_blocks(lines, units[:-2]):
            for key, number in _list_keys(lines, block):
                self.numbers.setdefault((block.parent, key), number)
            if len(block.key) >= LEAST_CHARACTERS:
                self.nearly.add(block.start, lines[block.start])

    def find(self, block: _Statement) -> str:
        """Return where a block stands already, or "" if it does not."""
        parent = self.item_parent if block.is_item else self.text_parent
        number = self.numbers.get((parent, block.key))
        return "" if number is None else self._name_line(number)

    def compare(self, block: _Statement, line: str) -> Iterator[str]:
        """Name the line that a new one differs from in one word."""
        if len(block.key) < LEAST_CHARACTERS:
            return
        repeat = self.nearly.add(self.count + block.start, line)
        if repeat is not None and repeat.word and repeat.first < self.count:
            yield (
                f'"{_quote(line)}" differs from {self._name_line(repeat.first)}, only in '
                f'"{repeat.word}" instead of "{repeat.earlier_word}": change that line if it no '
                "longer holds."
            )

    def _name_line(self, number: int) -> str:
        return f"{self.where}line {number + self.first_line}"


def _list_new_blocks(lines: Sequence[str]) -> Iterator[_Statement]:
    """Return the blocks of an addition that would stand in its section's last place."""
    units = find_units(lines)
    heading = next((unit.start for unit in units if unit.kind == "heading"), len(lines))
    for block in _list_blocks(lines, units):
        if block.parent == NO_PARENT and block.key and block.start < heading:
            yield block


def screen_page_addition(
    page: str, addition: str, name: str | None = None, *, position: int | None = None
) -> Addition:
    """Return an addition to a section of a page, or to the page's end, without what is said there.

    Raise as an append to that section does, or leave that to the append.
    """
    if not _may_repeat(page, addition):
        return Addition(addition)
    if name is None and position is None:
        sections = list_sections(page)
        section = sections[-1] if sections else None
    else:
        section = find_section(page, name, position=position)
        if section is None:
            return Addition(addition)
    if "## " in addition and list_sections(addition):
        return Addition(addition)  # it brings sections of its own
    if section is None:
        return screen_addition(page, addition)
    text = page[section.start : section.end]
    return screen_addition(text, addition, section=section.name, first_line=section.line)


def _may_repeat(section_text: str, addition: str) -> bool:
    """Return whether a section has all words of a line of an addition, or all but one.

    This looks at the speed of a search in text, and most additions are new. Lines that differ in a
    number, or in a word that reverses them, are not compared, so that a new number needs no look.
    """
    folded = section_text.casefold()
    for line in addition.casefold().split("\n"):
        words = set(_WORD.findall(line))
        missing = [word for word in words if word not in folded]
        may_vary = len(missing) == 1 and len(words) >= _LEAST_WORDS and _may_differ(missing[0])
        if words and (not missing or may_vary):
            return True
    return False


def _may_differ(word: str) -> bool:
    """Return whether lines that differ in this word alone say nearly the same."""
    return word.isalpha() and word not in _REVERSING


def _list_blocks(lines: Sequence[str], units: Sequence[Unit]) -> list[_Statement]:
    parents = {unit.parent for unit in units}
    blocks: list[_Statement] = []
    for number, unit in enumerate(units):
        is_inside = unit.parent != NO_PARENT and units[unit.parent].kind == "item"
        if is_inside and blocks:
            last = blocks[-1]
            below = [_fold_below(line) for line in lines[unit.start : unit.end] if line.strip()]
            is_plain = last.key and unit.kind in ("item", "paragraph")
            key = "\n".join([last.key, *below]) if is_plain else ""
            blocks[-1] = _Statement(last.start, unit.end, last.parent, key, last.is_item)
        elif unit.kind == "item" or (unit.kind == "paragraph" and number not in parents):
            text = " ".join(line.strip() for line in lines[unit.start : unit.end])
            key = fold_line(text) if has_word(text) and "<!--" not in text else ""
            blocks.append(_Statement(unit.start, unit.end, unit.parent, key, unit.kind == "item"))
    return blocks


def _fold_below(line: str) -> str:
    indentation = line[: len(line) - len(line.lstrip())]
    return f"{indentation}{fold_line(line)}"


def _list_keys(lines: Sequence[str], block: _Statement) -> Iterator[tuple[str, int]]:
    """Return what a block says; a long line of a paragraph also by itself, as it was once added."""
    if not block.key:
        return
    yield block.key, block.start
    for number in range(block.start, block.end if not block.is_item else block.start):
        if len(lines[number]) > _LONG_LINE and has_word(lines[number]):
            yield fold_line(lines[number]), number


def _quote(line: str) -> str:
    text = _BULLET.sub("", line, count=1).strip()
    return text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 1]}…"


def _join_some(parts: Sequence[str]) -> str:
    more = f" and {len(parts) - _MOST_NOTES} more" if len(parts) > _MOST_NOTES else ""
    return f"{', '.join(parts[:_MOST_NOTES])}{more}"
