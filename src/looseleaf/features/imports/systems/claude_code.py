"""Claude Code: the memory of a project, the CLAUDE.md files of a project, or `~/.claude`.

The memory of a project (`~/.claude/projects/<project>/memory`) is an index, MEMORY.md, and a file
for each topic; the names stay, so that the links of the index lead to pages.
"""

from __future__ import annotations

import re

from looseleaf.features.bundles.source_tree import SourceContent, SourcePage
from looseleaf.features.imports.systems.shared_layout import (
    NO_MEMORY,
    NOT_IN_PROMPTS,
    is_page,
    split_front_matter,
)
from looseleaf.memory.managed_block import remove_block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.features.bundles.source_tree import SourceFolder

_INDEX = "MEMORY.md"
_PROJECT_FILES = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md")
_MEMORY_PATH = re.compile(r"/projects/[^/]+/memory$")
_INCLUDE = re.compile(r"(?:^|\s)@((?:~/|/|\.{0,2}/)?[\w./-]+\.\w+)")
_FENCE = ("```", "~~~")
_MOST_SAMPLES = 20
_TYPES = ("type", "metadata.type")


def detect(folder: SourceFolder) -> str:
    """Name the files by which memory of Claude Code is recognized."""
    if _is_home(folder):
        return "projects/"
    if folder.has_file(_INDEX):
        if _MEMORY_PATH.search(folder.path):
            return _INDEX
        topics = [file for file in folder.files() if file.endswith(".md") and file != _INDEX]
        for file in topics[:_MOST_SAMPLES]:
            fields, _ = split_front_matter(folder.read(file) or "")
            if "name" in fields and any(name in fields for name in _TYPES):
                return f"{_INDEX}, {file}"
    return ", ".join(file for file in _PROJECT_FILES if folder.has_file(file))


def read(folder: SourceFolder) -> SourceContent:
    """Read the memory of a project, or the instructions of a project or a person."""
    if _is_home(folder):
        pages = list(_read_home(folder))
    elif any(folder.has_file(file) for file in _PROJECT_FILES):
        pages = list(_read_project(folder))
    else:
        pages = list(_read_memory(folder))
    return SourceContent(tuple(pages), tuple(folder.refusals))


def _is_home(folder: SourceFolder) -> bool:
    return folder.has_folder("projects") and (
        folder.name == ".claude" or folder.has_file("settings.json")
    )


def _read_memory(folder: SourceFolder) -> Iterator[SourcePage]:
    """Read the index and the topics of a project's memory."""
    for file in folder.walk():
        if is_page(folder, file) and (text := folder.read(file)) is not None:
            note = "" if file == _INDEX else NOT_IN_PROMPTS
            yield SourcePage(filename=file, text=text, sources=(file,), note=note)


def _read_project(folder: SourceFolder) -> Iterator[SourcePage]:
    """Read the instructions of a project; its other files are no memory."""
    files = [file for file in _PROJECT_FILES if folder.has_file(file)]
    files += [file for file in folder.walk(".claude/rules") if is_page(folder, file)]
    yield from _read_instructions(folder, files, f"projects/{folder.name}")
    folder.refuse("all other files", "only CLAUDE.md and the rules of a project are memory")


def _read_home(folder: SourceFolder) -> Iterator[SourcePage]:
    """Read a person's own instructions; the memory of each project is a source of its own."""
    files = [file for file in ("CLAUDE.md",) if folder.has_file(file)]
    files += [file for file in folder.walk("rules") if is_page(folder, file)]
    yield from _read_instructions(folder, files, "claude")
    for project in folder.folders("projects"):
        if folder.has_folder(f"{project}/memory"):
            advice = f"import {folder.path}/{project}/memory"
            folder.refuse(f"{project}/memory/", f"it is the memory of one project; {advice}")
    for path in (*folder.files(), *(f"{path}/" for path in folder.folders())):
        if path not in (*files, "projects/", "rules/"):
            folder.refuse(path, NO_MEMORY)


def _read_instructions(folder: SourceFolder, files: list[str], target: str) -> Iterator[SourcePage]:
    for file in files:
        text = folder.read(file)
        if text is None:
            continue
        for include in _find_includes(text):
            folder.refuse(f"{file}: @{include}", "a file that is included is not followed")
        filename = f"{target}/{file.replace('.claude/', 'claude/', 1)}"
        yield SourcePage(
            filename=filename, text=remove_block(text), sources=(file,), note=NOT_IN_PROMPTS
        )


def _find_includes(text: str) -> list[str]:
    """Find the files that instructions include by `@path`, outside code."""
    includes: list[str] = []
    is_code = False
    for line in text.splitlines():
        if line.lstrip().startswith(_FENCE):
            is_code = not is_code
        elif not is_code:
            includes += _INCLUDE.findall(re.sub(r"`[^`]*`", "", line))
    return list(dict.fromkeys(includes))
