"""OpenClaw: the workspace of an agent, such as `~/.openclaw/workspace`.

SOUL.md, USER.md and MEMORY.md keep their names. The daily notes (`memory/YYYY-MM-DD.md`, with or
without a time or a title after the date) become days of the journal.
"""

from __future__ import annotations

import re

from looseleaf.features.bundles.source_tree import SourceContent, SourcePage
from looseleaf.features.imports.systems.shared_layout import (
    SKILLS,
    DayEntry,
    build_days,
    is_page,
    join_path,
    map_page,
    note_folders,
)
from looseleaf.memory.day import parse_date

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.features.bundles.source_tree import SourceFolder

_SIGNS = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "TOOLS.md", "HEARTBEAT.md", "BOOTSTRAP.md")
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:-(.+))?\.md")
_TIME = re.compile(r"([01]\d|2[0-3])([0-5]\d)(\d{2})?")
_FOLDERS = {  # that hold no memory
    "skills": SKILLS,
    "canvas": "it holds files of a user interface",
    "memory/dreaming": "its reports are generated; the outcome is in MEMORY.md",
    "memory/.dreams": "it holds the state of a program",
}


def detect(folder: SourceFolder) -> str:
    """Name the files by which a workspace of OpenClaw is recognized."""
    top = _find_workspace(folder)
    signs = [name for name in _SIGNS if folder.has_file(join_path(top, name))]
    has_notes = any(
        _DAY.fullmatch(_name_of(file)) for file in folder.files(join_path(top, "memory"))
    )
    is_workspace = len(signs) >= 2 and ("SOUL.md" in signs or "IDENTITY.md" in signs)
    if is_workspace or (signs and has_notes):
        return ", ".join(join_path(top, name) for name in signs[:3])
    return ""


def read(folder: SourceFolder) -> SourceContent:
    """Read the pages and daily notes of a workspace."""
    top = _find_workspace(folder)
    for path in folder.folders() if top else ():
        if _name_of(path).startswith("workspace-"):
            reason = f"it is the workspace of another agent or profile; import {folder.path}/{path}"
            folder.refuse(f"{path}/", reason)
        elif path != top:
            folder.refuse(f"{path}/", "it is outside the workspace")
    for path in folder.files() if top else ():
        folder.refuse(path, "it is outside the workspace")
    folders = {join_path(top, path): reason for path, reason in _FOLDERS.items()}
    skipped_folders = note_folders(folder, folders)
    has_main_memory = folder.has_file(join_path(top, "MEMORY.md"))
    pages: list[SourcePage] = []
    entries: list[DayEntry] = []
    for file in sorted(folder.walk(top, skip=skipped_folders), key=_stem_of):
        filename = file[len(top) + 1 :] if top else file
        if not is_page(folder, file) or (text := folder.read(file)) is None:
            continue
        if date := _day_of(filename):
            entries.append(DayEntry(date, _format_note(file, text), file))
        elif filename == "memory.md" and not has_main_memory:
            pages.append(SourcePage(filename="MEMORY.md", text=text, sources=(file,)))
        else:
            pages.append(map_page(file, filename, text))
    return SourceContent((*pages, *build_days(entries)), tuple(folder.refusals))


def _find_workspace(folder: SourceFolder) -> str:
    """Return the folder of the workspace: the source itself, or `workspace` in the state folder."""
    is_state = folder.has_folder("workspace") and not folder.has_file("SOUL.md")
    return "workspace" if is_state else ""


def _format_note(file: str, text: str) -> str:
    """Return the text of a note; a note with a time or title after its date gets a heading."""
    match = _DAY.fullmatch(_name_of(file))
    title = match[2] if match else None
    if not title:
        return text
    time = _TIME.fullmatch(title)
    heading = f"{time[1]}:{time[2]}" if time else title.replace("-", " ")
    return f"## {heading}\n\n{text}"


def _day_of(filename: str) -> str:
    """Return the date of a daily note, or "" for any other file."""
    folder, _, name = filename.rpartition("/")
    match = _DAY.fullmatch(name)
    is_day = folder == "memory" and match is not None and parse_date(match[1]) is not None
    return match[1] if match and is_day else ""


def _name_of(path: str) -> str:
    return path.rpartition("/")[2]


def _stem_of(path: str) -> str:
    """Return the key by which the note of a whole day comes before the notes of its hours."""
    return path.rpartition(".")[0]
