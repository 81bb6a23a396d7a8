"""nanobot: a workspace such as `~/.nanobot/workspace`.

Its long-term memory is `memory/MEMORY.md`. Its log is `memory/HISTORY.md`, or `history.jsonl` in
newer versions; every entry has a time, and becomes a part of the journal.
"""

from __future__ import annotations

from looseleaf.features.bundles.source_tree import SourceContent, SourcePage
from looseleaf.features.imports.systems.shared_layout import (
    NO_MEMORY,
    NOT_IN_PROMPTS,
    SKILLS,
    DayEntry,
    build_days,
    is_page,
    join_path,
    map_page,
    note_folders,
    read_json_lines,
    read_stamped_log,
)
from looseleaf.memory.day import parse_date

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.features.bundles.source_tree import SourceFolder

_LOG, _JSON_LOG = "memory/HISTORY.md", "memory/history.jsonl"
_MEMORY = "memory/MEMORY.md"
_OLD_LOG_PAGE = "history.md"
_FOLDERS = {
    "skills": SKILLS,
    "sessions": "conversations are not imported",
    "cron": NO_MEMORY,
    "prompts": "it holds instructions for the upkeep of nanobot, and no memory",
}


def detect(folder: SourceFolder) -> str:
    """Name the files by which a workspace of nanobot is recognized."""
    top = _find_workspace(folder)
    names = [name for name in (_MEMORY, _LOG, _JSON_LOG) if folder.has_file(join_path(top, name))]
    return ", ".join(join_path(top, name) for name in names)


def read(folder: SourceFolder) -> SourceContent:
    """Read the pages of a workspace, and its log as days of the journal."""
    top = _find_workspace(folder)
    if top:
        for path in (*folder.files(), *(f"{path}/" for path in folder.folders())):
            if path != f"{top}/":
                folder.refuse(path, "it is outside the workspace")
    folders = {join_path(top, path): reason for path, reason in _FOLDERS.items()}
    skipped_folders = note_folders(folder, folders)
    pages: list[SourcePage] = []
    entries: list[DayEntry] = []
    for file in folder.walk(top, skip=skipped_folders):
        filename = file[len(top) + 1 :] if top else file
        if filename == _JSON_LOG:
            entries += _read_json_log(folder, file)
        elif is_page(folder, file) and (text := folder.read(file)) is not None:
            day = parse_date(filename.removeprefix("memory/").removesuffix(".md"))
            if filename == _LOG:
                log_entries, head = read_stamped_log(file, text)
                entries += log_entries
                if head:
                    pages.append(
                        SourcePage(filename=_OLD_LOG_PAGE, text=f"{head}\n", sources=(file,))
                    )
            elif day is not None:
                entries.append(DayEntry(str(day), text, file))
            else:
                pages.append(_map_page(file, filename, text))
    return SourceContent((*pages, *build_days(entries)), tuple(folder.refusals))


def _find_workspace(folder: SourceFolder) -> str:
    is_state = folder.has_folder("workspace") and not folder.has_folder("memory")
    return "workspace" if is_state else ""


def _map_page(file: str, filename: str, text: str) -> SourcePage:
    if filename == _MEMORY:
        return SourcePage(filename="MEMORY.md", text=text, sources=(file,))
    page = map_page(file, filename, text)
    if filename == "MEMORY.md":  # nanobot does not read it; its own is in the folder `memory`
        return SourcePage(
            filename="workspace/MEMORY.md", text=text, sources=(file,), note=NOT_IN_PROMPTS
        )
    return page


def _read_json_log(folder: SourceFolder, file: str) -> Iterator[DayEntry]:
    for number, record in read_json_lines(folder, file):
        time, content = record.get("timestamp"), record.get("content")
        date = time[:10] if isinstance(time, str) else ""
        if parse_date(date) is None or not isinstance(content, str) or not content.strip():
            folder.refuse(f"{file}:{number}", "the entry has no day or no text")
            continue
        yield DayEntry(date, f"[{time}] {content.strip()}", file)
