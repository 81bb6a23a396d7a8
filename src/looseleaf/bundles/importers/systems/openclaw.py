"""OpenClaw: the workspace of an agent, such as `~/.openclaw/workspace`.

SOUL.md, USER.md and MEMORY.md keep their names. The daily notes (`memory/YYYY-MM-DD.md`, with or
without a time or a title after the date) become days of the journal.
"""

from __future__ import annotations

import re

from looseleaf.bundles.importers.contract import Reading, SourcePage
from looseleaf.memory.day import parse_date
from looseleaf.memory.scope import PAGE_SUFFIXES
from looseleaf.memory.text.managed_block import remove_block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.bundles.importers.source_folder import SourceFolder

INSTRUCTIONS = "operating-instructions.md"  # AGENTS.md is the name of a page that is generated here
NOT_IN_PROMPTS = "it is not in prompts by itself"
_SIGNS = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "TOOLS.md", "HEARTBEAT.md", "BOOTSTRAP.md")
_CORE = {"SOUL.md": "SOUL.md", "USER.md": "USER.md", "MEMORY.md": "MEMORY.md"}
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:-(.+))?\.md")
_TIME = re.compile(r"([01]\d|2[0-3])([0-5]\d)(\d{2})?")
_BOOTSTRAP = "it is for the first run of a new workspace alone"
_FOLDERS = {  # that hold no memory
    "skills": "skills are instructions for programs, and no memory",
    "canvas": "it holds files of a user interface",
    "memory/dreaming": "its reports are generated; the outcome is in MEMORY.md",
    "memory/.dreams": "it holds the state of a program",
}


def detect(folder: SourceFolder) -> str:
    """Name the files by which a workspace of OpenClaw is recognized."""
    top = _workspace(folder)
    signs = [name for name in _SIGNS if folder.has_file(_below(top, name))]
    has_notes = any(_DAY.fullmatch(_name(file)) for file in folder.files(_below(top, "memory")))
    is_workspace = len(signs) >= 2 and ("SOUL.md" in signs or "IDENTITY.md" in signs)
    if is_workspace or (signs and has_notes):
        return ", ".join(_below(top, name) for name in signs[:3])
    return ""


def read(folder: SourceFolder) -> Reading:
    """Read the pages and daily notes of a workspace."""
    top = _workspace(folder)
    for path in folder.folders() if top else ():
        if _name(path).startswith("workspace-"):
            reason = f"it is the workspace of another profile; import {folder.path}/{path}"
            folder.refuse(f"{path}/", reason)
        elif path != top:
            folder.refuse(f"{path}/", "it is outside the workspace")
    for path in folder.files() if top else ():
        folder.refuse(path, "it is outside the workspace")
    for path, reason in _FOLDERS.items():
        if folder.has_folder(_below(top, path)):
            folder.refuse(f"{_below(top, path)}/", reason)
    pages = [*_read_pages(folder, top), *_read_days(folder, top)]
    return Reading(tuple(pages), tuple(folder.refusals))


def _workspace(folder: SourceFolder) -> str:
    """Give the folder of the workspace: the source itself, or `workspace` in the state folder."""
    is_state = folder.has_folder("workspace") and not folder.has_file("SOUL.md")
    return "workspace" if is_state else ""


def _read_pages(folder: SourceFolder, top: str) -> Iterator[SourcePage]:
    """Read every page that is no daily note."""
    skipped_folders = tuple(_below(top, path) for path in _FOLDERS)
    has_main_memory = folder.has_file(_below(top, "MEMORY.md"))
    for file in folder.walk(top, skip=skipped_folders):
        filename = file[len(top) + 1 :] if top else file
        if _day_of(filename):
            continue
        if filename == "BOOTSTRAP.md":
            folder.refuse(file, _BOOTSTRAP)
        elif not filename.lower().endswith(PAGE_SUFFIXES):
            folder.refuse(file, f"it is no page: a page ends in {', '.join(PAGE_SUFFIXES)}")
        elif (text := folder.read(file)) is not None:
            yield _map_page(file, filename, text, has_main_memory=has_main_memory)


def _map_page(file: str, filename: str, text: str, *, has_main_memory: bool) -> SourcePage:
    if filename == "memory.md" and not has_main_memory:
        return SourcePage("MEMORY.md", text, (file,))
    if filename == "AGENTS.md":
        return SourcePage(INSTRUCTIONS, remove_block(text), (file,), note=NOT_IN_PROMPTS)
    if filename in _CORE:
        layer = "user" if filename == "USER.md" else "agent"
        return SourcePage(filename, text, (file,), layer)  # type: ignore[arg-type]
    return SourcePage(filename, text, (file,), note=NOT_IN_PROMPTS)


def _read_days(folder: SourceFolder, top: str) -> Iterator[SourcePage]:
    """Read the daily notes; the notes of one day become one page."""
    days: dict[str, list[str]] = {}
    for file in folder.files(_below(top, "memory")):
        date = _day_of(file[len(top) + 1 :] if top else file)
        if date:
            days.setdefault(date, []).append(file)
    for date, files in sorted(days.items()):
        texts = {file: text for file in files if (text := folder.read(file)) is not None}
        day = parse_date(date)
        if day is not None and texts:
            sources = sorted(texts, key=lambda file: file.removesuffix(".md"))
            parts = [_format_note(file, texts[file]) for file in sources]
            yield SourcePage(day.filename, "\n".join(parts), tuple(sources))


def _format_note(file: str, text: str) -> str:
    """Give the text of a note; a note with a time or title after its date gets a heading."""
    match = _DAY.fullmatch(_name(file))
    title = match[2] if match else None
    if not title:
        return text
    time = _TIME.fullmatch(title)
    heading = f"{time[1]}:{time[2]}" if time else title.replace("-", " ")
    return f"## {heading}\n\n{text}"


def _day_of(filename: str) -> str:
    """Give the date of a daily note; "" for any other file."""
    folder, _, name = filename.rpartition("/")
    match = _DAY.fullmatch(name)
    is_day = folder == "memory" and match is not None and parse_date(match[1]) is not None
    return match[1] if match and is_day else ""


def _below(top: str, path: str) -> str:
    return f"{top}/{path}" if top else path


def _name(path: str) -> str:
    return path.rpartition("/")[2]
