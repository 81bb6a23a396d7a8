"""Hermes: `~/.hermes`, or the folder of one of its profiles.

Its memory is two files of entries that a line with `§` divides; each entry becomes a bullet. The
entries that were replaced, removed or no longer fitted are in ARCHIVE.jsonl, each with the store
that it was in (memory or user), and mostly with a time, an action and a reason.
"""

from __future__ import annotations

from looseleaf.features.bundles.source_tree import SourceContent, SourcePage
from looseleaf.features.imports.systems.shared_layout import (
    NO_MEMORY,
    NOT_IN_PROMPTS,
    SKILLS,
    join_path,
    read_json_lines,
)
from looseleaf.memory.day import parse_date
from looseleaf.memory.templates import as_one_line
from looseleaf.times import format_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from looseleaf.features.bundles.source_tree import SourceFolder
    from looseleaf.memory.scope import Layer

_FOLDER = "memories"
_ARCHIVE = "ARCHIVE.jsonl"
_DIVIDER = "§"
_TEXT_FIELDS = ("entry", "content", "text")
_STORE_FIELDS = ("store", "target")
_TIME_FIELDS = ("ts", "timestamp", "time", "archived_at", "evicted_at")
_LAST_TIME = 253_402_300_800  # the year 10,000, in seconds
_ARCHIVES: dict[Layer, tuple[str, str]] = {
    "agent": ("memory-archive.md", "# Memory archive"),
    "user": ("user-archive.md", "# User archive"),  # about a person, so with the pages of the user
}
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


def read(folder: SourceFolder) -> SourceContent:
    """Read the entries of the memory, the archive, and SOUL.md."""
    top = _FOLDER if folder.has_folder(_FOLDER) else ""
    pages = [*_read_entries(folder, top), *_read_archive(folder, top)]
    if top and folder.has_file("SOUL.md") and (text := folder.read("SOUL.md")) is not None:
        pages.append(SourcePage(filename="SOUL.md", text=text, sources=("SOUL.md",)))
    sources = {source for page in pages for source in page.sources}
    if top:
        _note_outside(folder, sources)
    for file in folder.walk(top):
        if file not in sources:
            folder.refuse(file, NO_MEMORY)
    return SourceContent(tuple(pages), tuple(folder.refusals))


def _read_entries(folder: SourceFolder, top: str) -> Iterator[SourcePage]:
    for name, title, layer in _FILES:
        file = join_path(top, name)
        text = folder.read(file) if folder.has_file(file) else None
        if text is not None:
            entries = dict.fromkeys(_split_entries(text))
            yield SourcePage(
                filename=name, text=_format_bullets(title, entries), sources=(file,), layer=layer
            )


def _read_archive(folder: SourceFolder, top: str) -> Iterator[SourcePage]:
    """Read the entries that are not in the memory any more, each to the page of its store."""
    file = join_path(top, _ARCHIVE)
    if not folder.has_file(file):
        return
    stores: dict[Layer, dict[str, str]] = {layer: {} for layer in _ARCHIVES}
    for number, record in read_json_lines(folder, file):
        text = _read_field(record, _TEXT_FIELDS).strip()
        if not text:
            folder.refuse(f"{file}:{number}", "the entry has no text")
            continue
        is_user = _read_field(record, _STORE_FIELDS).lower().startswith("user")
        stores["user" if is_user else "agent"][text] = _format_remark(record)
    for layer, entries in stores.items():
        if entries:
            filename, title = _ARCHIVES[layer]
            bullets = [f"{text}\n{remark}".strip() for text, remark in entries.items()]
            text = _format_bullets(title, bullets)
            yield SourcePage(
                filename=filename, text=text, sources=(file,), layer=layer, note=NOT_IN_PROMPTS
            )


def _format_remark(record: Mapping[str, Any]) -> str:
    """Return when and why an entry left the memory, so that old facts do not look like new ones."""
    words = [_read_field(record, ("action",)), _read_date(record)]
    remark = as_one_line(" ".join(word for word in words if word))
    reason = as_one_line(_read_field(record, ("reason",)))
    parts = [part for part in (remark, reason) if part]
    return f"({': '.join(parts)})" if parts else ""


def _read_date(record: Mapping[str, Any]) -> str:
    for field in _TIME_FIELDS:
        time: Any = record.get(field)
        is_number = isinstance(time, int | float) and not isinstance(time, bool)
        if is_number and 0 < time < _LAST_TIME:
            return format_time(time)[:10]
        if isinstance(time, str) and parse_date(time[:10]) is not None:
            return time[:10]
    return ""


def _read_field(record: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """Return the first of several fields that is a text, or "" if none is."""
    return next((record[name] for name in names if isinstance(record.get(name), str)), "")


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
    """Return entries as a list; the further lines of an entry are indented."""
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
