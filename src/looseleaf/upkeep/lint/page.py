"""A page as lint reads it: its lines, which of them are code, and the section of each."""

from __future__ import annotations

from functools import cached_property

from looseleaf.memory.sections import list_sections
from looseleaf.upkeep.daily_task.lines import split_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.memory.sections import Section


class LintPage:
    """One page: its name and layer, its text, and the time of its last change."""

    def __init__(self, file: str, layer: str, text: str, updated: float = 0.0) -> None:
        self.file, self.layer, self.text, self.updated = file, layer, text, updated

    @cached_property
    def lines(self) -> list[str]:
        """The lines, with their ends."""
        return split_lines(self.text)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The `## ` sections."""
        return list_sections(self.text)

    @cached_property
    def code_lines(self) -> frozenset[int]:
        """The numbers of lines that are inside a block of code, from 0."""
        numbers: set[int] = set()
        if "```" not in self.text and "~~~" not in self.text:
            return frozenset()
        fence = ""
        for number, line in enumerate(self.lines):
            mark = line.strip()
            if fence:
                numbers.add(number)
                if mark.startswith(fence) and not mark.strip(fence[0]):
                    fence = ""
            elif mark.startswith(("```", "~~~")):
                numbers.add(number)
                fence = mark[:3]
        return frozenset(numbers)

    @cached_property
    def section_of(self) -> list[str]:
        """The name of the section of each line; "" above the first."""
        names = [""] * len(self.lines)
        bounds = [section.line - 1 for section in self.sections] + [len(self.lines)]
        for section, start, end in zip(self.sections, bounds, bounds[1:], strict=False):
            names[start:end] = [section.name] * (end - start)
        return names

    @cached_property
    def prose(self) -> list[tuple[int, str]]:
        """The lines that are neither code nor headings nor blank, with their numbers."""
        code = self.code_lines
        return [
            (number, text)
            for number, line in enumerate(self.lines)
            if (text := line.strip()) and text[0] not in "#|" and number not in code
        ]

    def section_lines(self, position: int) -> tuple[int, int]:
        """Return the line of the header of a section, by its position, and the line after it."""
        start = self.sections[position].line - 1
        is_last = position + 1 == len(self.sections)
        return start, len(self.lines) if is_last else self.sections[position + 1].line - 1
