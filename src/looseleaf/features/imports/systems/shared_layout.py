"""What the folders of several systems have in common: file names, front matter, dated entries."""

from __future__ import annotations

import json
import re

from looseleaf.features.bundles.source_tree import SourcePage
from looseleaf.memory.day import parse_date
from looseleaf.memory.managed_block import remove_block
from looseleaf.memory.scope import PAGE_SUFFIXES
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from looseleaf.features.bundles.source_tree import SourceFolder


# The names that agents' workspaces share: which file of a workspace becomes which page here.


INSTRUCTIONS = "operating-instructions.md"  # AGENTS.md is the name of a page that is generated here
NOT_IN_PROMPTS = "it is not in prompts by itself"
BOOTSTRAP = "BOOTSTRAP.md"
SKILLS = "skills are instructions for programs, and no memory"
NO_MEMORY = "it holds no memory"
_CORE = ("SOUL.md", "MEMORY.md")


def map_page(source: str, filename: str, text: str) -> SourcePage:
    """Return the page here that a file of a workspace becomes."""
    if filename == "USER.md":
        return SourcePage(filename=filename, text=text, sources=(source,), layer="user")
    if filename == "AGENTS.md":
        return SourcePage(
            filename=INSTRUCTIONS, text=remove_block(text), sources=(source,), note=NOT_IN_PROMPTS
        )
    note = "" if filename in _CORE else NOT_IN_PROMPTS
    return SourcePage(filename=filename, text=text, sources=(source,), note=note)


def is_page(folder: SourceFolder, file: str) -> bool:
    """Return whether a file can be a page; if not, note the reason."""
    if file.rpartition("/")[2] == BOOTSTRAP:
        folder.refuse(file, "it is for the first run of a new workspace alone")
        return False
    if not file.lower().endswith(PAGE_SUFFIXES):
        folder.refuse(file, f"it is no page: a page ends in {', '.join(PAGE_SUFFIXES)}")
        return False
    return True


def note_folders(folder: SourceFolder, reasons: dict[str, str]) -> tuple[str, ...]:
    """Record the folders that hold no memory, each with its reason; return those that exist."""
    present = tuple(path for path in reasons if folder.has_folder(path))
    for path in present:
        folder.refuse(f"{path}/", reasons[path])
    return present


def join_path(top: str, path: str) -> str:
    """Return the path of a file below a folder of the source; "" is the source itself."""
    return f"{top}/{path}" if top else path


# Front matter: the fields between two lines of `---` at the beginning of a Markdown file.
# Only what importers need is read: plain fields, and one level of fields below a field. Nothing
# is evaluated, and a file without a closing line has no front matter.


_MARK = "---"
_FIELD = re.compile(r"( *)([A-Za-z_][\w-]*):(?: +(.*))?")
_BLOCK = re.compile(r"[>|][+-]?")


def split_front_matter(text: str) -> tuple[dict[str, str], str]:
    """Return the fields of a file and the text below them; a nested field is `parent.name`."""
    lines = text.splitlines(keepends=True)
    if not lines or lines[0].rstrip() != _MARK:
        return {}, text
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == _MARK:
            return _parse_fields(lines[1:number]), "".join(lines[number + 1 :]).lstrip("\r\n")
    return {}, text


def _parse_fields(lines: list[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    parent = key = ""
    for line in lines:
        match = _FIELD.fullmatch(line.rstrip())
        if match is None or (match[1] and not parent):
            if key and line.startswith(" ") and line.strip():
                fields[key] = f"{fields[key]} {line.strip()}".strip()
            continue
        content = (match[3] or "").strip()
        if not match[1]:
            parent = "" if content else match[2]
        key = f"{parent}.{match[2]}" if match[1] else match[2]
        fields[key] = "" if _BLOCK.fullmatch(content) else content.strip("\"'")
    return fields


# Entries of a log as days of the journal: every entry is on the page of its day.


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
