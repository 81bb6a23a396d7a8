"""Memory and instructions of Claude Code as pages."""

from __future__ import annotations

from pathlib import Path

from looseleaf.features.bundles.source_tree import SourceFolder
from looseleaf.features.imports.systems import claude_code
from tests.features.imports.sources import CLAUDE_MEMORY, compute_fingerprint, write_tree


def test_the_layouts_are_recognized(tmp_path: Path) -> None:
    """The memory of a project, its instructions, and the folder of a person."""
    memory = write_tree(tmp_path / ".claude/projects/-home-ines-orchard/memory", CLAUDE_MEMORY)
    assert claude_code.detect(SourceFolder(str(memory))) == "MEMORY.md"
    copy = write_tree(tmp_path / "copy", CLAUDE_MEMORY)
    assert claude_code.detect(SourceFolder(str(copy))) == "MEMORY.md, feedback_tests.md"
    assert claude_code.detect(SourceFolder(str(tmp_path / ".claude"))) == "projects/"
    project = write_tree(tmp_path / "orchard", {"CLAUDE.md": "x\n", "src/a.py": "x\n"})
    assert claude_code.detect(SourceFolder(str(project))) == "CLAUDE.md"
    other = write_tree(tmp_path / "other", {"MEMORY.md": "x\n", "notes.md": "x\n"})
    assert claude_code.detect(SourceFolder(str(other))) == ""


def test_the_memory_of_a_project(tmp_path: Path) -> None:
    """The index and the topics keep their names, so that links lead on."""
    write_tree(tmp_path, CLAUDE_MEMORY)
    before = compute_fingerprint(tmp_path)
    content = claude_code.read(SourceFolder(str(tmp_path)))
    assert compute_fingerprint(tmp_path) == before
    assert {page.filename: page.text for page in content.pages} == CLAUDE_MEMORY


def test_the_instructions_of_a_project(tmp_path: Path) -> None:
    """Our own block stays out, and files that are included are named and not followed."""
    block = "<!-- looseleaf:begin -->\nours\n<!-- looseleaf:end -->\n"
    text = f"# Orchard\n\nSee @docs/plan.md and `@code.md`.\n\n```\n@fence.md\n```\n\n{block}"
    files = {
        "CLAUDE.md": text,
        ".claude/rules/style.md": "# Style\n",
        ".claude/settings.json": "{}\n",
        "docs/plan.md": "a plan\n",
    }
    folder = SourceFolder(str(write_tree(tmp_path / "orchard", files)))
    content = claude_code.read(folder)
    pages = {page.filename: page.text for page in content.pages}
    assert set(pages) == {"projects/orchard/CLAUDE.md", "projects/orchard/claude/rules/style.md"}
    assert "ours" not in pages["projects/orchard/CLAUDE.md"]
    assert "# Orchard\n" in pages["projects/orchard/CLAUDE.md"]
    assert [entry.source for entry in content.left_out] == [
        "CLAUDE.md: @docs/plan.md",
        "all other files",
    ]


def test_the_folder_of_a_person(tmp_path: Path) -> None:
    """Its instructions are taken; the memory of each project is named with its path."""
    home = tmp_path / ".claude"
    write_tree(home / "projects/-home-ines/memory", CLAUDE_MEMORY)
    write_tree(home, {"CLAUDE.md": "Be brief.\n", "history.jsonl": "{}\n"})
    content = claude_code.read(SourceFolder(str(home)))
    assert [page.filename for page in content.pages] == ["claude/CLAUDE.md"]
    reasons = {entry.source: entry.reason for entry in content.left_out}
    assert set(reasons) == {"history.jsonl", "projects/-home-ines/memory/"}
    assert str(home / "projects/-home-ines/memory") in reasons["projects/-home-ines/memory/"]
