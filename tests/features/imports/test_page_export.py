"""Pages leave as plain files or as a managed block; secrets and other people's files stay safe."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.access.principals import Principal
from looseleaf.errors import Invalid, Unsafe
from looseleaf.errors.features import FolderRefused, InvalidExport, SecretsFound
from looseleaf.features.imports import export_operations, operations
from looseleaf.operations import daily, memory
from tests.features.imports.sources import OPENCLAW, write_tree

KEY = "sk-proj-" + "A1b2C3d4" * 4


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Create a workspace whose agent ada has pages and a day."""
    workspace = Workspace.create(tmp_path / "root", agent="ada")
    memory.write_page(workspace.context, "plans/garden.md", "# Garden\n")
    daily.write_day(workspace.context, "- Rain", date="2026-03-01", mode="append")
    return workspace


def files_below(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def test_the_pages_of_an_agent_as_files(workspace: Workspace, tmp_path: Path) -> None:
    """Byte for byte, with the page about its owner; a second export writes nothing."""
    target = tmp_path / "out"
    result = export_operations.export_pages(workspace.context, str(target))
    root = Path(workspace.root)
    assert files_below(target) == {
        "MEMORY.md": (root / "agents/ada/MEMORY.md").read_bytes(),
        "SOUL.md": (root / "agents/ada/SOUL.md").read_bytes(),
        "USER.md": (root / "users/1/USER.md").read_bytes(),
        "daily/2026/03/01.md": (root / "agents/ada/daily/2026/03/01.md").read_bytes(),
        "plans/garden.md": b"# Garden\n",
    }
    assert (result.written, result.kept) == (5, 0)
    again = export_operations.export_pages(workspace.context, str(target))
    assert {page.action for page in again.pages} == {"unchanged"}


def test_files_of_others_are_kept(workspace: Workspace, tmp_path: Path) -> None:
    """They are replaced only if someone says so."""
    target = write_tree(tmp_path / "out", {"SOUL.md": "mine\n", "other.txt": "x\n"})
    result = export_operations.export_pages(workspace.context, str(target))
    assert (result.written, result.kept) == (4, 1)
    assert (target / "SOUL.md").read_text() == "mine\n"
    export_operations.export_pages(workspace.context, str(target), replace=True)
    assert (target / "SOUL.md").read_text() != "mine\n"
    assert (target / "other.txt").read_text() == "x\n"


def test_a_link_in_the_folder_is_not_followed(workspace: Workspace, tmp_path: Path) -> None:
    """Nothing is written outside the folder."""
    outside = write_tree(tmp_path / "outside", {"a.md": "x\n"})
    target = tmp_path / "out"
    target.mkdir()
    (target / "daily").symlink_to(outside)
    with pytest.raises(Unsafe):
        export_operations.export_pages(workspace.context, str(target))
    assert files_below(outside) == {"a.md": b"x\n"}


def test_secrets_do_not_leave_by_mistake(workspace: Workspace, tmp_path: Path) -> None:
    """The error names file and line without the value, and nothing is written."""
    memory.write_page(workspace.context, "keys.md", f"# Keys\n\n- {KEY}\n")
    target = tmp_path / "out"
    with pytest.raises(SecretsFound, match=r"keys\.md:3") as refusal:
        export_operations.export_pages(workspace.context, str(target))
    assert KEY not in str(refusal.value)
    assert not target.exists()
    export_operations.export_pages(workspace.context, str(target), allow_secrets=True)
    assert KEY in (target / "keys.md").read_text()


def test_targets_that_cannot_be(workspace: Workspace, tmp_path: Path) -> None:
    """The workspace itself, a file, a folder in a folder that is missing."""
    (tmp_path / "file").write_text("x\n")
    for path in (workspace.root, f"{workspace.root}/out", tmp_path / "file", tmp_path / "a/b"):
        with pytest.raises(InvalidExport):
            export_operations.export_pages(workspace.context, str(path))
    for path in (f"{workspace.root}/CLAUDE.md", tmp_path / "a/CLAUDE.md", tmp_path / "run.sh"):
        with pytest.raises(InvalidExport):
            export_operations.export_block(workspace.context, str(path))


def test_a_block_in_a_file_of_a_project(workspace: Workspace, tmp_path: Path) -> None:
    """The text of people stays around it; a later export replaces the block alone."""
    file = tmp_path / "CLAUDE.md"
    file.write_text("# My project\n\nRun the tests.\n")
    memory.update_memory(workspace.context, "Trees", "- Row 3 is pears", mode="append")
    export_operations.export_block(workspace.context, str(file))
    first = file.read_text()
    assert first.startswith("# My project\n\nRun the tests.\n")
    assert "- Row 3 is pears" in first
    memory.update_memory(workspace.context, "Trees", "- Row 4 is plums", mode="set")
    result = export_operations.export_block(workspace.context, str(file))
    second = file.read_text()
    assert second.count("looseleaf:begin") == 1
    assert "- Row 3 is pears" not in second
    assert "- Row 4 is plums" in second
    assert second.startswith("# My project\n\nRun the tests.\n")
    assert result.bytes < len(second)


def test_a_damaged_block_is_not_touched(workspace: Workspace, tmp_path: Path) -> None:
    """The error says what to repair."""
    file = tmp_path / "AGENTS.md"
    file.write_text("<!-- looseleaf:begin -->\nno end\n")
    with pytest.raises(Invalid, match="damaged"):
        export_operations.export_block(workspace.context, str(file))
    assert file.read_text() == "<!-- looseleaf:begin -->\nno end\n"


def test_only_the_operator_exports_to_the_disk(workspace: Workspace, tmp_path: Path) -> None:
    """An administrator over a network does not write to the disk of the server."""
    principal = Principal(
        kind="session", user_id=1, name="admin", capabilities=frozenset(("manage_options",))
    )
    administrator = workspace.acting(principal=principal)
    with pytest.raises(FolderRefused):
        export_operations.export_pages(administrator, str(tmp_path / "out"))
    with pytest.raises(FolderRefused):
        export_operations.export_block(administrator, str(tmp_path / "CLAUDE.md"))
    assert not (tmp_path / "out").exists()


def test_an_export_can_be_imported_again(workspace: Workspace, tmp_path: Path) -> None:
    """What came from OpenClaw goes back to a folder that is recognized as one."""
    source = write_tree(tmp_path / "openclaw", OPENCLAW)
    operations.run(workspace.context, str(source))
    export_operations.export_pages(workspace.context, str(tmp_path / "out"))
    [system] = operations.detect(workspace.context, str(tmp_path / "out"))
    assert system.kind == "openclaw"
    assert (tmp_path / "out/SOUL.md").read_text() == OPENCLAW["SOUL.md"]
