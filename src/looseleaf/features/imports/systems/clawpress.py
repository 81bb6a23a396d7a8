"""clawpress: its agent files and memories, saved as files under the names that they have there.

clawpress keeps them as posts of a WordPress site, titled `memory.md`, `memory-ddmmyyyy.md`,
`SOUL.md` and so on.
"""

from __future__ import annotations

import re

from looseleaf.features.bundles.source_tree import SourceContent, SourcePage
from looseleaf.features.imports.systems.shared_layout import DayEntry, build_days, is_page, map_page
from looseleaf.memory.day import parse_date

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.features.bundles.source_tree import SourceFolder
    from looseleaf.memory.day import Day

_DAY = re.compile(r"memory-(\d{2})(\d{2})(\d{4})\.md")


def detect(folder: SourceFolder) -> str:
    """Name a daily memory of clawpress."""
    return next((file for file in folder.files() if _day_of(file)), "")


def read(folder: SourceFolder) -> SourceContent:
    """Read the long-term memory, the days, and the agent's files."""
    pages: list[SourcePage] = []
    entries: list[DayEntry] = []
    for file in folder.walk():
        if not is_page(folder, file) or (text := folder.read(file)) is None:
            continue
        day = _day_of(file)
        if day is not None:
            entries.append(DayEntry(str(day), text, file))
        elif file == "memory.md":
            pages.append(SourcePage(filename="MEMORY.md", text=text, sources=(file,)))
        else:
            pages.append(map_page(file, file, text))
    return SourceContent((*pages, *build_days(entries)), tuple(folder.refusals))


def _day_of(file: str) -> Day | None:
    match = _DAY.fullmatch(file)
    return parse_date(f"{match[3]}-{match[2]}-{match[1]}") if match else None
