"""Matches: the lines that hold a text with the lines around them, never more than the bounds."""

from __future__ import annotations

from bisect import bisect_right

from looseleaf.memory.search.folding import fold_content
from looseleaf.memory.search.results import Match
from looseleaf.memory.sections import list_sections

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.memory.search.bounds import Bounds
    from looseleaf.memory.sections import Section

_REPEATED = 2  # context lines of a match in the window of the match before


class MatchCollector:
    """The matches of one search, page after page, until there are enough."""

    def __init__(
        self, needle: bytes, section: str, limit: int, context: int, bounds: Bounds
    ) -> None:
        self.matches: list[Match] = []
        self._needle = needle
        self._section = section
        self._limit = min(limit, bounds.matches)
        self._context = min(context, bounds.context)
        self._bounds = bounds
        self._bytes = bounds.bytes
        self._over_limit = limit > bounds.matches
        self._over_context = context > bounds.context
        self._is_full = self._was_cut = False

    @property
    def has_room(self) -> bool:
        """Return whether one more match may be given."""
        return not self._is_full and len(self.matches) < self._limit

    def add(self, filename: str, content: bytes) -> int:
        """Add the matches of a page while there is room; return how many it has."""
        numbers = _find_lines(fold_content(content), self._needle)
        if not numbers:
            return 0
        text = content.decode("utf-8", "replace")
        lines = text.removesuffix("\n").split("\n")
        sections = list_sections(text)
        count = shown_until = 0
        for number in numbers:
            section = find_section_name(sections, number)
            if self._section not in ("", section):
                continue
            count += 1
            if self.has_room:
                # A match in the window of the match before needs less context.
                around = min(self._context, _REPEATED) if number <= shown_until else self._context
                window = max(0, number - 1 - around), min(len(lines), number + around)
                shown_until = max(shown_until, window[1])
                self._take(filename, number, lines, window, section)
        return count

    def notice(self, total: int) -> str:
        """Return what was left out because of the bounds, or "" if nothing was."""
        parts = []
        if self._is_full:
            size = f"{self._bounds.bytes:,} bytes"
            parts.append(f"The answer ends after {len(self.matches)} matches: it holds {size}.")
        elif self._over_limit and total > len(self.matches):
            parts.append(f"At most {self._bounds.matches} matches are given.")
        if self._was_cut:
            parts.append("A line or its context was cut.")
        if self._over_context and self.matches:
            parts.append(f"At most {self._bounds.context} lines around a match are given.")
        return " ".join(parts)

    def _take(
        self, filename: str, number: int, lines: list[str], window: tuple[int, int], section: str
    ) -> None:
        """Add one match; without its context, or cut, if it would not fit."""
        line = lines[number - 1].removesuffix("\r")
        context = "\n".join(lines[window[0] : window[1]])
        if _count_bytes(line) + _count_bytes(context) > self._bytes:
            context, self._was_cut = line, True
        if _count_bytes(line) + _count_bytes(context) > self._bytes and self.matches:
            self._is_full, self._was_cut = True, False
            return
        if 2 * _count_bytes(line) > self._bytes:
            line = context = line.encode()[: self._bytes // 2].decode("utf-8", "ignore")
        self._bytes -= _count_bytes(line) + _count_bytes(context)
        self.matches.append(Match(filename, number, line, context, section))


def _count_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _find_lines(folded_text: bytes, needle: bytes) -> list[int]:
    return [n for n, line in enumerate(folded_text.split(b"\n"), 1) if needle in line]


def find_section_name(sections: tuple[Section, ...], line: int) -> str:
    """Name the section that a 1-based line of the page belongs to, or "" above the first header."""
    place = bisect_right(sections, line, key=lambda section: section.line)
    return sections[place - 1].name if place else ""
