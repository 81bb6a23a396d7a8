"""Letta: the memory folder of an agent, or `~/.letta` with those of all its agents.

Agents of a server lie in `agents/<id>/memory`, those of Letta Code's own backend in
`lc-local-backend/memfs/<id>/memory`; in a home, the id is the name of the agent. The blocks in
`system/` are always in the agent's context: `persona` becomes SOUL.md, `human` USER.md, and each
other block a section of MEMORY.md. Every other file is a page of its name.
"""

from __future__ import annotations

from itertools import islice

from looseleaf.errors import LooseleafError
from looseleaf.features.bundles.source_tree import SourceContent, SourcePage
from looseleaf.features.imports.systems.shared_layout import (
    NOT_IN_PROMPTS,
    SKILLS,
    is_page,
    join_path,
    note_folders,
    split_front_matter,
)
from looseleaf.memory.sections import end_line, set_section
from looseleaf.memory.templates import as_one_line
from looseleaf.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.features.bundles.source_tree import SourceFolder
    from looseleaf.memory.scope import Layer

_SYSTEM = "system"
_MEMORY = "memory"
_HOME, _BACKEND = ".letta", "lc-local-backend"
# The folders that hold a folder for each agent, seen from a home or from a folder inside of it.
_AGENT_FOLDERS = ("agents", f"{_BACKEND}/memfs", "memfs", "")
_PARTS = ("agents", _BACKEND, "projects")
_OUTSIDE = "it is outside the memory folder"
_MOST_SAMPLES = 20
_TARGETS: dict[str, tuple[str, Layer, str]] = {  # by the first part of the name of a block
    "persona": ("SOUL.md", "agent", "# Soul\n"),
    "human": ("USER.md", "user", "# User\n"),
    "": ("MEMORY.md", "agent", "# Memory\n"),
}


def detect(folder: SourceFolder) -> str:
    """Name the files by which a memory folder of Letta, or a home with some, is recognized."""
    for _, top in _find_memories(folder):
        sign = _find_sign(folder, join_path(top, _SYSTEM))
        if sign:
            return sign
    # A home is Letta's even if no agent has written to its memory.
    is_home = folder.name == _HOME or folder.has_folder(f"{_BACKEND}/memfs")
    return next((f"{path}/" for path in folder.folders() if is_home and path in _PARTS), "")


def _find_sign(folder: SourceFolder, system: str) -> str:
    blocks = [file for file in islice(folder.walk(system), _MOST_SAMPLES) if file.endswith(".md")]
    signs = [file for file in blocks if _group_of(file[len(system) + 1 :])]
    if signs:
        return ", ".join(signs[:2])
    for file in blocks:
        text = folder.read(file)
        if text is not None and "description" in split_front_matter(text)[0]:
            return file
    return ""


def read(folder: SourceFolder) -> SourceContent:
    """Read the memory of every agent."""
    memories = _find_memories(folder)
    _refuse_outside(folder, [top for _, top in memories], "")
    pages = [page for agent, top in memories for page in _read_memory(folder, agent, top)]
    return SourceContent(tuple(pages), tuple(folder.refusals))


def _find_memories(folder: SourceFolder) -> list[tuple[str, str]]:
    """Find the memory folders; each with its agent, which has no name if the source is its own."""
    if folder.has_folder(_SYSTEM):
        return [("", "")]
    if folder.has_folder(_MEMORY):
        return [("", _MEMORY)]
    tops = [
        (agent.rpartition("/")[2], f"{agent}/{_MEMORY}")
        for place in _AGENT_FOLDERS
        for agent in folder.folders(place)
        if folder.has_folder(f"{agent}/{_MEMORY}/{_SYSTEM}")
    ]
    return sorted(tops)


def _refuse_outside(folder: SourceFolder, tops: list[str], place: str) -> None:
    """Note what lies beside the memory folders, and not within them."""
    for path in folder.files(place) if "" not in tops else ():
        folder.refuse(path, _OUTSIDE)
    for path in folder.folders(place) if "" not in tops else ():
        if any(top.startswith(f"{path}/") for top in tops):
            _refuse_outside(folder, tops, path)
        elif path not in tops:
            folder.refuse(f"{path}/", _OUTSIDE)


def _read_memory(folder: SourceFolder, agent: str, top: str) -> Iterator[SourcePage]:
    """Read the blocks as sections of the core pages, and every other page as it is."""
    blocks: dict[str, list[tuple[str, str]]] = {}
    pages: list[SourcePage] = []
    skipped_folders = note_folders(folder, {join_path(top, "skills"): SKILLS})
    for file in folder.walk(top, skip=skipped_folders):
        filename = file[len(top) + 1 :] if top else file
        if not is_page(folder, file) or (text := folder.read(file)) is None:
            continue
        if filename.startswith(f"{_SYSTEM}/"):
            label = filename[len(_SYSTEM) + 1 :].rpartition(".")[0]
            blocks.setdefault(_group_of(label), []).append((label, file))
        else:
            pages.append(
                SourcePage(filename=filename, text=text, sources=(file,), note=NOT_IN_PROMPTS)
            )
    core_pages = [
        page
        for group in _TARGETS
        if group in blocks
        for page in _build_pages(folder, group, blocks[group])
    ]
    for page in (*core_pages, *pages):
        yield replace(page, agent=agent)


def _group_of(label: str) -> str:
    """Return the group that a block belongs to by the first part of its name, such as human."""
    group = label.partition("/")[0].removesuffix(".md")
    return group if group in _TARGETS else ""


def _build_pages(
    folder: SourceFolder, group: str, blocks: list[tuple[str, str]]
) -> Iterator[SourcePage]:
    """Put the blocks of a group on one page: the main one above, each other in a section.

    A block that cannot be a section, such as one below a comment that never ends, has a page of its
    own.
    """
    filename, layer, title = _TARGETS[group]
    texts = {label: _read_block(folder, file) for label, file in blocks}
    page = end_line(texts.pop(group, title)) if group else title
    files = [file for label, file in blocks if label == group]
    for label, file in sorted(blocks):
        text = texts.get(label, "")
        if not text.strip():
            files += [file] if label in texts else []
            continue
        try:
            page = set_section(page, label, text.strip("\n"))
        except LooseleafError as error:
            note = f"it is no section of {filename}: {error}"
            yield SourcePage(
                filename=f"{_SYSTEM}/{label}.md",
                text=end_line(text),
                sources=(file,),
                layer=layer,
                note=note,
            )
        else:
            files.append(file)
    yield SourcePage(filename=filename, text=page, sources=tuple(files), layer=layer)


def _read_block(folder: SourceFolder, file: str) -> str:
    """Return the text of a block below its description, a comment that stays out of prompts."""
    fields, text = split_front_matter(folder.read(file) or "")
    description = as_one_line(fields.get("description", "")).replace("--", "—")
    return f"<!-- {description} -->\n\n{text}" if description and text.strip() else text
