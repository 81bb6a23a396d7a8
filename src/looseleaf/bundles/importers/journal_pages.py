"""Entries of a log as days of the journal: every entry is on the page of its day."""

from __future__ import annotations

import json
import re

from looseleaf.bundles.importers.contract import SourcePage
from looseleaf.memory.day import parse_date
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from looseleaf.bundles.importers.source_folder import SourceFolder

_STAMP = re.compile(r"\[(\d{4}-\d{2}-\d{2})(?:[ T][^\]]*)?\]")
_LONGEST_LINE = 200_000


@value
class DayEntry:
    """One entry: its day as YYYY-MM-DD, its text, and the file that it is from."""

    date: str
    text: str
    source: str


def build_days(entries: Iterable[DayEntry]) -> list[SourcePage]:
    """Build the pages of days; the entries of a day stay in their order, each once."""
    days: dict[str, list[DayEntry]] = {}
    for entry in entries:
        days.setdefault(entry.date, []).append(entry)
    pages = []
    for date, day_entries in sorted(days.items()):
        day = parse_date(date)
        if day is not None:
            texts = list(dict.fromkeys(entry.text.strip("\r\n") for entry in day_entries))
            head = "" if texts[0].startswith("# ") else day.heading
            sources = tuple(dict.fromkeys(entry.source for entry in day_entries))
            pages.append(
                SourcePage(
                    filename=day.filename, text=head + "\n\n".join(texts) + "\n", sources=sources
                )
            )
    return pages


def read_stamped_log(source: str, text: str) -> tuple[list[DayEntry], str]:
    """Read paragraphs that begin with `[YYYY-MM-DD HH:MM]`; return also the text before the first.

    A paragraph without a time belongs to the entry above it.
    """
    entries: list[DayEntry] = []
    head: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text):
        match = _STAMP.match(paragraph.lstrip())
        if match and parse_date(match[1]):
            entries.append(DayEntry(match[1], paragraph.strip(), source))
        elif entries and paragraph.strip():
            last = entries[-1]
            entries[-1] = DayEntry(last.date, f"{last.text}\n\n{paragraph.rstrip()}", source)
        elif paragraph.strip():
            head.append(paragraph.strip("\n"))
    return entries, "\n\n".join(head)


def read_json_lines(folder: SourceFolder, file: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a file of JSON lines with their numbers; other lines are noted."""
    text = folder.read(file)
    for number, line in enumerate((text or "").split("\n"), 1):
        if not line.strip():
            continue
        record = _parse_line(line)
        if isinstance(record, dict):
            yield number, record
        else:
            folder.refuse(f"{file}:{number}", "the line is no JSON object with texts in UTF-8")


def _parse_line(line: str) -> object:
    if len(line) > _LONGEST_LINE:
        return None
    try:
        record = json.loads(line)
        if "\\u" in line:  # half of a surrogate pair is no text, and no page can hold it
            json.dumps(record, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return record
