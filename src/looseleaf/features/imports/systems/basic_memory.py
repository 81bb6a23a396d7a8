"""basic-memory: the folder of a project, with a note in each Markdown file.

A note has front matter (title, type, permalink), observations and relations. It stays as it is,
below `notes/`, so that no note takes the name of a core page.
"""

from __future__ import annotations

from looseleaf.features.bundles.source_tree import SourceContent, SourcePage
from looseleaf.features.imports.systems.shared_layout import (
    NOT_IN_PROMPTS,
    is_page,
    split_front_matter,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.features.bundles.source_tree import SourceFolder

_FOLDER = "notes"
_MOST_SAMPLES = 50


def detect(folder: SourceFolder) -> str:
    """Name a note with the front matter of basic-memory; permalinks can be switched off there."""
    for number, file in enumerate(file for file in folder.walk() if file.endswith(".md")):
        if number >= _MOST_SAMPLES:
            break
        text = folder.read(file)
        fields = split_front_matter(text or "")[0]
        if "permalink" in fields or ("title" in fields and fields.get("type") == "note"):
            return file
    return ""


def read(folder: SourceFolder) -> SourceContent:
    """Read every note, with its front matter."""
    pages = [
        SourcePage(filename=f"{_FOLDER}/{file}", text=text, sources=(file,), note=NOT_IN_PROMPTS)
        for file in folder.walk()
        if is_page(folder, file) and (text := folder.read(file)) is not None
    ]
    return SourceContent(tuple(pages), tuple(folder.refusals))
