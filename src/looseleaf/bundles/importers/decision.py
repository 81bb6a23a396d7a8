"""The decision of an import about one page: create, replace, merge, or change nothing.

A page that changed here since the last import is merged with the source by section: lines that are
new in the source are added, and no line that was written here is removed.
"""

from __future__ import annotations

import hashlib

from looseleaf.memory.sections import end_line, list_sections, newline_of
from looseleaf.memory.store import hash_content
from looseleaf.memory.text.section_merge import (
    BOTH,
    compare_sections,
    merge_sections,
    split_at_line_feeds,
)
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from looseleaf.memory.text.section_merge import SectionMerge

CREATE: Final = "create"
REPLACE: Final = "replace"
MERGE: Final = "merge"
UNCHANGED: Final = "unchanged"
LEFT_OUT: Final = "left out"
FAILED: Final = "failed"
CHANGES = (CREATE, REPLACE, MERGE)
_DIGEST_LENGTH = 16


@value
class ImportedPage:
    """A page at its last import, as the ledger keeps it.

    Fields:
        source: The hash of the text of the source.
        page: The hash of the page after the import.
        lines: Short hashes of the lines of the source, in place of the lines themselves.
    """

    source: str
    page: str
    lines: frozenset[str]


@value
class ImportDecision:
    """The outcome for one page: an action, its reason, and the new text of the page."""

    action: str
    reason: str
    text: str


def decide(
    current: str | None,
    source: str,
    former: ImportedPage | None,
    *,
    is_starter: bool = False,
) -> ImportDecision:
    """Decide what an import does with a page; `current` is None if there is no page.

    `former` is the last import of the same page from the same source; `is_starter` says that the
    page has the text that every new agent starts with.
    """
    if current is None:
        if former is not None:
            return ImportDecision(LEFT_OUT, "the page was deleted here after the last import", "")
        return ImportDecision(CREATE, "", source)
    if current == source:
        return ImportDecision(UNCHANGED, "the page has this text already", current)
    if former is not None and former.source == hash_content(source.encode()):
        return ImportDecision(
            UNCHANGED, "the source has not changed since the last import", current
        )
    if former is not None and former.page == hash_content(current.encode()):
        return ImportDecision(REPLACE, "the source has changed, and the page has not", source)
    if is_starter:
        return ImportDecision(REPLACE, "the page had only its starter text", source)
    text = merge_texts(current, source, former)
    if text == current:
        return ImportDecision(UNCHANGED, "the page has every line of the source", current)
    return ImportDecision(MERGE, "new lines of the source are added, and no line is removed", text)


def merge_texts(current: str, source: str, former: ImportedPage | None) -> str:
    """Add the new lines of a source to a page, each to its section; remove no line of the page.

    A line of the last import that is no longer in the page was removed here, and is not added.
    """
    lines = former.lines if former is not None else frozenset()
    source = _match_line_ends(source, current)
    if not _has_new_line(current, source, lines):
        return current
    if _can_end_with_section(current):
        base, merge_source = _drop_old_lines(current, source, lines)
        parts = compare_sections(base if former is not None else None, current, merge_source)
        text = merge_sections([_swap_sides(part) for part in parts], {})
        is_repeatable = not _has_new_line(text, merge_source, lines)
        if is_repeatable and _strip_lines(current) <= _strip_lines(text):
            return text
    return _append_new_lines(current, source, lines)


def _can_end_with_section(text: str) -> bool:
    """Return whether a heading that is added at the end of a page would begin a section.

    Behind a code fence that never ends it would not, and would be added again at every import.
    """
    return len(list_sections(f"{text}\n## End\n")) > len(list_sections(text))


def _drop_old_lines(current: str, source: str, lines: frozenset[str]) -> tuple[str, str]:
    """Return the text that the page and its source have in common, and the source to merge.

    A line of the last import that the page lacks in this section was removed or moved here, or the
    source has moved it: it is not added again. Headings and fences stay around new lines.
    """
    page_lines = _list_section_lines(current)
    common_lines, source_lines = [], []
    for section, part in _split_sections(source):
        part_lines, kept_lines = split_at_line_feeds(part), []
        for line in part_lines:
            is_common = digest_line(line) in lines and (section, line.rstrip()) in page_lines
            if is_common or digest_line(line) not in lines or _is_structure(line):
                kept_lines.append(line)
                common_lines += [line] if is_common else []
        if kept_lines == part_lines or not all(_is_structure(line) for line in kept_lines):
            source_lines += kept_lines
    return "".join(common_lines), "".join(source_lines)


def _is_structure(line: str) -> bool:
    """Return whether a line only structures others: a heading, a fence, or no word at all."""
    text = line.strip()
    return text.startswith(("#", "```", "~~~")) or not any(sign.isalnum() for sign in text)


def _match_line_ends(source: str, page: str) -> str:
    """Return a source the line ends of the page that it is merged into."""
    plain = source.replace("\r\n", "\n")
    return plain.replace("\n", "\r\n") if "\r\n" in page else plain


def _swap_sides(part: SectionMerge) -> SectionMerge:
    """Swap the sides of a section that both changed, so that the lines of the page come first."""
    if part.state != BOTH:
        return part
    return replace(part, mine=part.theirs, theirs=part.mine)


def digest_lines(text: str) -> frozenset[str]:
    """Return the short hashes of the lines of a text."""
    return frozenset(digest_line(line) for line in _strip_lines(text))


def digest_line(line: str) -> str:
    """Return the short hash of one line, whatever its end."""
    return hashlib.sha256(line.rstrip().encode()).hexdigest()[:_DIGEST_LENGTH]


def record_import(source: str, page: str) -> ImportedPage:
    """Return the entry of the ledger for a page that now has the text `page`."""
    page_hash = hash_content(page.encode())
    return ImportedPage(hash_content(source.encode()), page_hash, digest_lines(source))


def _has_new_line(current: str, source: str, lines: frozenset[str]) -> bool:
    """Return whether a section of the source has a line missing from the page and from `lines`."""
    new_lines = _list_section_lines(source) - _list_section_lines(current)
    return any(digest_line(line) not in lines for _, line in new_lines)


def _list_section_lines(text: str) -> set[tuple[str, str]]:
    """Return the lines of a text, each with the name of its section."""
    return {(name, line) for name, part in _split_sections(text) for line in _strip_lines(part)}


def _split_sections(text: str) -> list[tuple[str, str]]:
    """Return the text above the first section, and each section with its name."""
    sections = list_sections(text)
    first = sections[0].start if sections else len(text)
    parts = [(section.name, text[section.start : section.end]) for section in sections]
    return [("", text[:first]), *parts]


def _strip_lines(text: str) -> set[str]:
    return {line.rstrip() for line in text.split("\n") if line.strip()}


def _append_new_lines(current: str, source: str, lines: frozenset[str]) -> str:
    """Add the new lines of a source to the end of a page: if sections cannot be merged."""
    present = _strip_lines(current)
    new_lines = [
        line
        for line in split_at_line_feeds(source)
        if line.strip() and line.rstrip() not in present and digest_line(line) not in lines
    ]
    if not new_lines:
        return current
    newline = newline_of(current)
    head = end_line(current) if current else ""
    return head + newline + "".join(end_line(line, newline) for line in new_lines)
