"""The knowledge graph of the MCP memory server as pages."""

from __future__ import annotations

from pathlib import Path

from looseleaf.features.bundles.source_tree import SourceFolder
from looseleaf.features.imports.systems import mcp_memory
from tests.features.imports.sources import MCP_MEMORY, compute_fingerprint, write_tree


def test_the_layout_is_recognized(tmp_path: Path) -> None:
    """In its folder, and as a file of any name."""
    write_tree(tmp_path, MCP_MEMORY)
    assert mcp_memory.detect(SourceFolder(str(tmp_path))) == "memory.jsonl"
    (tmp_path / "graph.jsonl").write_text(MCP_MEMORY["memory.jsonl"])
    assert mcp_memory.detect(SourceFolder(str(tmp_path / "graph.jsonl"))) == "graph.jsonl"
    (tmp_path / "log.jsonl").write_text('{"cursor": 1}\n')
    assert mcp_memory.detect(SourceFolder(str(tmp_path / "log.jsonl"))) == ""


def test_entities_become_sections(tmp_path: Path) -> None:
    """One page for each type; relations stand at the entity where they begin."""
    write_tree(tmp_path, MCP_MEMORY)
    before = compute_fingerprint(tmp_path)
    content = mcp_memory.read(SourceFolder(str(tmp_path)))
    assert compute_fingerprint(tmp_path) == before
    assert {page.filename: page.text for page in content.pages} == {
        "knowledge/person.md": "# person\n\n## Ines\n- Runs an orchard\n- prunes: Row 3\n",
        "knowledge/tree-row.md": "# tree row\n\n## Row 3\n- Is pears\n- Is old\n",
    }
    reasons = {entry.source: entry.reason for entry in content.left_out}
    assert set(reasons) == {"memory.jsonl:4", "memory.jsonl:5", "memory.jsonl:6"}
    assert "'Nobody'" in reasons["memory.jsonl:4"]


def test_an_entity_without_a_type_is_imported(tmp_path: Path) -> None:
    """Its type is a text, and may be empty; its relations stand with it."""
    lines = (
        '{"type":"entity","name":"Ines","entityType":"","observations":["Runs an orchard"]}\n'
        '{"type":"relation","from":"Ines","to":"Row 3","relationType":"prunes"}\n'
    )
    content = mcp_memory.read(SourceFolder(str(write_tree(tmp_path, {"memory.jsonl": lines}))))
    [page] = content.pages
    assert page.filename == "knowledge/entities.md"
    assert page.text == "# Entities\n\n## Ines\n- Runs an orchard\n- prunes: Row 3\n"
    assert not content.left_out
