"""The parts of a page that stay together: headings, list items, paragraphs, tables, code.

A part that is cut in the middle could say something else than before (`Deploy` / `never on
Friday`), so a plan keeps or archives whole units, and a unit keeps the heading and the list item
that it stands under.
"""

from __future__ import annotations

import re
from collections import Counter

from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    Kind = Literal["heading", "item", "paragraph", "table", "fence", "comment"]


NO_PARENT = -1
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*\r?\n?$")
_ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+\S")
_FENCE = re.compile(r"[ \t]*(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)*(`{3,}|~{3,})([^\n]*)")
_ENDS_SENTENCE = tuple(".!?:;。！？…|")
_GOES_ON = tuple(")]},.;:!?=-+&/(…")  # at the start of a line that continues the one above
_WRAPPED_LENGTH = 60


@value
class Unit:
    """Lines of a page that stay together, by number from 0, with the blank lines below them."""

    kind: Kind
    start: int
    end: int  # the first line after the blank lines
    parent: int = NO_PARENT  # the unit that this one is read under
    level: int = 0  # of a heading: 1 to 6
    title: str = ""  # of a heading or of the introduction to a list


def find_units(lines: Sequence[str]) -> list[Unit]:
    """Find the units of a page; the lines above the first of them are blank."""
    return _UnitScanner(lines).scan()


class _UnitScanner:
    """One walk over the lines of a page."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.units: list[Unit] = []
        self.headings: list[int] = []  # the units that the present line stands under
        self.items: list[tuple[int, int]] = []  # (indentation, unit) of list items
        self.introduction = NO_PARENT

    def scan(self) -> list[Unit]:
        """Walk over all lines."""
        position, count = 0, len(self.lines)
        while position < count:
            if not self.lines[position].strip():
                position += 1
                continue
            kind, end = self._recognize_block(position)
            after = end
            while after < count and not self.lines[after].strip():
                after += 1
            self._add(kind, position, end, after)
            position = after
        return self.units

    def _recognize_block(self, start: int) -> tuple[Kind, int]:
        """Return the kind of the block that begins here, and the line after it."""
        line = self.lines[start]
        fence = _fence_of(line)
        if fence:
            return "fence", self._find_fence_end(start + 1, fence)
        if line.lstrip().startswith("<!--") and "-->" not in line:
            return "comment", self._find_comment_end(start + 1)
        if _HEADING.match(line):
            return "heading", start + 1
        if line.lstrip().startswith("|"):
            return "table", self._find_run_end(start, table=True)
        return ("item" if _ITEM.match(line) else "paragraph"), self._find_run_end(start)

    def _find_fence_end(self, position: int, fence: str) -> int:
        while position < len(self.lines):
            mark = self.lines[position].strip()
            position += 1
            if mark.startswith(fence) and not mark.strip(fence[0]):
                break
        return position

    def _find_comment_end(self, position: int) -> int:
        while position < len(self.lines):
            position += 1
            if "-->" in self.lines[position - 1]:
                break
        return position

    def _find_run_end(self, start: int, *, table: bool = False) -> int:
        """Return the line after a table, or after a paragraph or item that goes on below."""
        position = start + 1
        is_item = bool(_ITEM.match(self.lines[start]))
        while position < len(self.lines):
            line = self.lines[position]
            if table:
                belongs = line.lstrip().startswith("|")
            else:
                belongs = not _begins_block(line)
                belongs = belongs and (is_item or _goes_on(self.lines[position - 1], line))
            if not belongs:
                break
            position += 1
        return position

    def _add(self, kind: Kind, start: int, end: int, after: int) -> None:
        line = self.lines[start]
        number = len(self.units)
        if kind == "heading":
            self._add_heading(line, start, after)
            return
        indentation = len(line) - len(line.lstrip(" \t"))
        while self.items and self.items[-1][0] >= indentation:
            self.items.pop()
        if kind == "paragraph" and not indentation:
            self.items.clear()
        parent = self.headings[-1] if self.headings else NO_PARENT
        if self.items:
            parent = self.items[-1][1]
        elif kind == "item" and self.introduction != NO_PARENT:
            parent = self.introduction
        text = self.lines[end - 1].strip().rstrip("*_")
        is_introduction = kind == "paragraph" and text.endswith((":", "："))
        if kind == "item":
            self.items.append((indentation, number))
        else:
            self.introduction = number if is_introduction else NO_PARENT
        title = text.strip("*_ ") if is_introduction else ""
        self.units.append(Unit(kind, start, after, parent, 0, title))

    def _add_heading(self, line: str, start: int, after: int) -> None:
        match = _HEADING.match(line)
        level = len(match[1]) if match else 1
        while self.headings and self.units[self.headings[-1]].level >= level:
            self.headings.pop()
        parent = self.headings[-1] if self.headings else NO_PARENT
        self.headings.append(len(self.units))
        title = (match[2] or "").strip() if match else ""
        self.units.append(Unit("heading", start, after, parent, level, title))
        self.items.clear()
        self.introduction = NO_PARENT


def _fence_of(line: str) -> str:
    """Return the characters that open a code block, or "" if the line opens none."""
    match = _FENCE.match(line) if "```" in line or "~~~" in line else None
    if match is None or (match[1][0] == "`" and "`" in match[2]):
        return ""
    return match[1]


def _begins_block(line: str) -> bool:
    text = line.lstrip()
    if not text or text[0] == "|" or text.startswith("<!--"):
        return True
    return bool(_ITEM.match(line) or _HEADING.match(line) or _fence_of(line))


def _goes_on(above: str, line: str) -> bool:
    """Return whether a line of a paragraph goes on with the sentence of the line above."""
    text = above.rstrip()
    first = line.lstrip()[:1]
    if first.islower() or first in _GOES_ON:
        return True
    return len(text) >= _WRAPPED_LENGTH and not text.endswith(_ENDS_SENTENCE)


# Lines of a page: split without loss, and counted as a multiset.


def split_lines(text: str) -> list[str]:
    """Split a text into lines with their ends; the lines joined are the text."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def count_lines(text: str) -> Counter[str]:
    """Count the lines of a text that are not blank, without spaces at their ends."""
    return Counter(line.rstrip() for line in text.split("\n") if not line.isspace() and line)


def has_word(line: str) -> bool:
    """Return whether a line has a letter or a digit; a fence or a rule has none."""
    return any(character.isalnum() for character in line)


def size_of(text: str) -> int:
    """Return the size of a text in bytes."""
    return len(text.encode())
