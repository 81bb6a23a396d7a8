"""Hermes: `~/.hermes`, or the folder of one of its profiles.

Its memory is two files of entries that a line with `§` divides; each entry becomes a bullet. The
entries that had no room any more are in ARCHIVE.jsonl.
"""

from __future__ import annotations

from looseleaf.bundles.importers.contract import Reading, SourcePage
from looseleaf.bundles.importers.journal_pages import read_json_lines
from looseleaf.bundles.importers.workspace_files import NO_MEMORY, NOT_IN_PROMPTS, SKILLS, below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from looseleaf.bundles.importers.source_folder import SourceFolder
    from looseleaf.memory.scope import Layer

_FOLDER = "memories"
_ARCHIVE = "ARCHIVE.jsonl"
_ARCHIVE_PAGE = "memory-archive.md"
_DIVIDER = "§"
_TEXT_FIELDS = ("entry", "content", "text")
_FILES: tuple[tuple[str, str, Layer], ...] = (
    ("MEMORY.md", "# Memory", "agent"),
    ("USER.md", "# User", "user"),
)
_FOLDERS = {"skills": SKILLS, "sessions": "conversations are not imported"}


def detect(folder: SourceFolder) -> str:
    """Name the files by which the memory of Hermes is recognized."""
    if folder.has_folder(_FOLDER):
        names = [f"{_FOLDER}/{name}" for name, _, _ in _FILES]
        return ", ".join(name for name in names if folder.has_file(name))
    if folder.name != _FOLDER:
        return ""
    return ", ".join(name for name, _, _ in _FILES if folder.has_file(name))


def read(folder: SourceFolder) -> Reading:
    """Read the entries of the memory, the archive, and SOUL.md."""
    top = _FOLDER if folder.has_folder(_FOLDER) else ""
    pages = [*_read_entries(folder, top), *_read_archive(folder, top)]
    if top and folder.has_file("SOUL.md") and (text := folder.read("SOUL.md")) is not None:
        pages.append(SourcePage("SOUL.md", text, ("SOUL.md",)))
    sources = {source for page in pages for source in page.sources}
    if top:
        _note_outside(folder, sources)
    for file in folder.walk(top):
        if file not in sources:
            folder.refuse(file, NO_MEMORY)
    return Reading(tuple(pages), tuple(folder.refusals))


def _read_entries(folder: SourceFolder, top: str) -> Iterator[SourcePage]:
    for name, title, layer in _FILES:
        file = below(top, name)
        text = folder.read(file) if folder.has_file(file) else None
        if text is not None:
            entries = dict.fromkeys(_split_entries(text))
            yield SourcePage(name, _format_bullets(title, entries), (file,), layer)


def _read_archive(folder: SourceFolder, top: str) -> Iterator[SourcePage]:
    """Read the entries that had no room in the memory any more."""
    file = below(top, _ARCHIVE)
    if not folder.has_file(file):
        return
    entries: dict[str, None] = {}
    for number, record in read_json_lines(folder, file):
        texts = [record[field] for field in _TEXT_FIELDS if isinstance(record.get(field), str)]
        if texts and texts[0].strip():
            entries[texts[0].strip()] = None
        else:
            folder.refuse(f"{file}:{number}", "the entry has no text")
    if entries:
        text = _format_bullets("# Memory archive", entries)
        yield SourcePage(_ARCHIVE_PAGE, text, (file,), note=NOT_IN_PROMPTS)


def _split_entries(text: str) -> Iterator[str]:
    lines: list[str] = []
    for line in (*text.splitlines(), _DIVIDER):
        if line.strip() != _DIVIDER:
            lines.append(line)
            continue
        entry = "\n".join(lines).strip()
        if entry:
            yield entry
        lines = []


def _format_bullets(title: str, entries: Iterable[str]) -> str:
    """Give entries as a list; the further lines of an entry are indented."""
    bullets = ["- " + entry.replace("\n", "\n  ") for entry in entries]
    return f"{title}\n\n" + "".join(f"{bullet}\n" for bullet in bullets) if bullets else ""


def _note_outside(folder: SourceFolder, sources: set[str]) -> None:
    for path in folder.folders():
        name = path.rpartition("/")[2]
        if name == "profiles":
            for profile in folder.folders(path):
                advice = f"import {folder.path}/{profile}"
                folder.refuse(f"{profile}/", f"it is another profile; {advice}")
        elif name != _FOLDER:
            folder.refuse(f"{path}/", _FOLDERS.get(name, NO_MEMORY))
    for path in folder.files():
        if path not in sources:
            folder.refuse(path, NO_MEMORY)
