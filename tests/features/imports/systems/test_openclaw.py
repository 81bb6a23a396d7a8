"""A workspace of OpenClaw as pages."""

from __future__ import annotations

from pathlib import Path

from looseleaf.features.bundles.source_tree import SourceFolder
from looseleaf.features.imports.systems import openclaw
from tests.features.imports.sources import OPENCLAW, compute_fingerprint, write_tree


def test_the_layout_is_recognized(tmp_path: Path) -> None:
    """By its files; a folder with a SOUL.md alone may be anyone's."""
    assert openclaw.detect(SourceFolder(str(write_tree(tmp_path / "a", OPENCLAW))))
    alone = write_tree(tmp_path / "b", {"SOUL.md": "x\n"})
    assert openclaw.detect(SourceFolder(str(alone))) == ""


def test_each_file_is_a_page_or_is_left_out(tmp_path: Path) -> None:
    """Nothing is forgotten, and the source stays as it was."""
    write_tree(tmp_path, OPENCLAW)
    before = compute_fingerprint(tmp_path)
    content = openclaw.read(SourceFolder(str(tmp_path)))
    assert compute_fingerprint(tmp_path) == before
    pages = {page.filename: page for page in content.pages}
    assert sorted(pages) == [
        "HEARTBEAT.md",
        "IDENTITY.md",
        "MEMORY.md",
        "SOUL.md",
        "TOOLS.md",
        "USER.md",
        "daily/2026/03/01.md",
        "daily/2026/03/02.md",
        "memory/orchard-plan.md",
        "operating-instructions.md",
    ]
    assert pages["USER.md"].layer == "user"
    assert pages["SOUL.md"].text == OPENCLAW["SOUL.md"]
    assert {entry.source for entry in content.left_out} == {
        "BOOTSTRAP.md",
        "canvas/",
        "memory/.dreams/",
        "memory/dreaming/",
        "skills/",
    }
    sources = {source for page in content.pages for source in page.sources}
    skipped = tuple(entry.source for entry in content.left_out)
    assert {name for name in OPENCLAW if not name.startswith(skipped)} == sources


def test_the_notes_of_a_day_become_one_page(tmp_path: Path) -> None:
    """The note of the whole day comes first; a time or a title becomes a heading."""
    content = openclaw.read(SourceFolder(str(write_tree(tmp_path, OPENCLAW))))
    days = {page.filename: page for page in content.pages if page.filename.startswith("daily/")}
    assert days["daily/2026/03/01.md"].text == (
        "# 2026-03-01\n\n- Pruned row 3\n\n## 14:30\n\n- Ordered new shears\n"
    )
    assert days["daily/2026/03/02.md"].text == (
        "# 2026-03-02\n\n## frost night\n\n- Lit the candles at 4 a.m.\n"
    )


def test_the_state_folder_leads_to_its_workspace(tmp_path: Path) -> None:
    """Other profiles are named, so that each can be imported by itself."""
    write_tree(tmp_path / "workspace", OPENCLAW)
    write_tree(tmp_path / "workspace-work", {"SOUL.md": "x\n"})
    write_tree(tmp_path, {"openclaw.json": "{}\n", "credentials/key.json": "{}\n"})
    folder = SourceFolder(str(tmp_path))
    assert openclaw.detect(folder)
    content = openclaw.read(folder)
    assert "SOUL.md" in {page.filename for page in content.pages}
    reasons = {entry.source: entry.reason for entry in content.left_out}
    assert "another agent or profile" in reasons["workspace-work/"]
    assert reasons["openclaw.json"] == "it is outside the workspace"
    assert reasons["credentials/"] == "it is outside the workspace"


def test_the_older_name_of_the_memory_is_known(tmp_path: Path) -> None:
    """memory.md is MEMORY.md if there is no other."""
    write_tree(tmp_path, {"SOUL.md": "s\n", "TOOLS.md": "t\n", "memory.md": "m\n"})
    pages = openclaw.read(SourceFolder(str(tmp_path))).pages
    assert {page.filename for page in pages} == {"SOUL.md", "TOOLS.md", "MEMORY.md"}


def test_a_day_that_does_not_exist_is_an_ordinary_page(tmp_path: Path) -> None:
    """It keeps its name."""
    write_tree(tmp_path, {"SOUL.md": "s\n", "memory/2026-02-31.md": "x\n"})
    pages = openclaw.read(SourceFolder(str(tmp_path))).pages
    assert "memory/2026-02-31.md" in {page.filename for page in pages}


def test_our_own_block_is_not_imported_again(tmp_path: Path) -> None:
    """Pages that Looseleaf put into AGENTS.md do not come back as the agent's instructions."""
    block = "<!-- looseleaf:begin (generated) -->\nours\n<!-- looseleaf:end -->\n"
    write_tree(tmp_path, {"AGENTS.md": f"# Mine\n\n{block}\nafter\n", "SOUL.md": "s\n"})
    pages = {page.filename: page for page in openclaw.read(SourceFolder(str(tmp_path))).pages}
    text = pages["operating-instructions.md"].text
    assert "ours" not in text
    assert "# Mine\n" in text
    assert "after\n" in text
