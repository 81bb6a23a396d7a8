"""Notes of basic-memory as pages."""

from __future__ import annotations

from pathlib import Path

from looseleaf.features.bundles.source_tree import SourceFolder
from looseleaf.features.imports.systems import basic_memory
from tests.features.imports.sources import BASIC_MEMORY, compute_fingerprint, write_tree


def test_the_layout_is_recognized(tmp_path: Path) -> None:
    """By a permalink; other notes are anyone's."""
    assert basic_memory.detect(SourceFolder(str(write_tree(tmp_path / "a", BASIC_MEMORY))))
    other = write_tree(tmp_path / "b", {"a.md": "---\ntitle: A\n---\nx\n"})
    assert basic_memory.detect(SourceFolder(str(other))) == ""


def test_notes_stay_as_they_are(tmp_path: Path) -> None:
    """With front matter, observations and relations, below one folder."""
    write_tree(tmp_path, BASIC_MEMORY)
    before = compute_fingerprint(tmp_path)
    content = basic_memory.read(SourceFolder(str(tmp_path)))
    assert compute_fingerprint(tmp_path) == before
    texts = {page.filename: page.text for page in content.pages}
    assert texts == {
        "notes/Orchard.md": BASIC_MEMORY["Orchard.md"],
        "notes/garden/Pear Trees.md": BASIC_MEMORY["garden/Pear Trees.md"],
    }
    assert {entry.source for entry in content.left_out} == {".obsidian/", "map.canvas"}


def test_notes_without_permalinks(tmp_path: Path) -> None:
    """They can be switched off; title and type then show whose notes they are."""
    note = "---\ntitle: Pears\ntype: note\ntags:\n- garden\n---\n\n# Pears\n"
    assert basic_memory.detect(SourceFolder(str(write_tree(tmp_path, {"a.md": note})))) == "a.md"
