"""A bundle and a backup that commit 8ead3b3 wrote can be installed and restored unchanged.

Both were made by that version's commands from the workspace of `make_workspace.py`, with a pipeline
and its flow.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.cli import main

HERE = Path(__file__).parent
BUNDLE, BACKUP = HERE / "bundle.zip", HERE / "backup.tar.gz"


def type_command(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    """Run a command that must succeed; return what it prints."""
    capsys.readouterr()
    code = main([str(word) for word in words])
    output = capsys.readouterr()
    assert code == 0, output.err
    return output.out


def test_a_bundle_is_installed_with_its_pages_and_workflows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As another agent of a new workspace; its flow waits for approval of the schedule."""
    root = tmp_path / "new"
    Workspace.create(root).close()
    type_command(capsys, "bundles", "install", BUNDLE, "--slug", "eva", "--root", root)
    with Workspace.open(root) as workspace:
        shelf = workspace.agents.resolve("eva").shelf
        assert workspace.pages.text(shelf.page("notes.md"))
        facts = workspace.pages.text(shelf.page("MEMORY.md"))
    assert "- likes tea" in facts
    assert "news" in type_command(capsys, "pipelines", "list", "--agent", "eva", "--root", root)
    assert "morning" in type_command(capsys, "flows", "list", "--agent", "eva", "--root", root)


def test_a_backup_is_restored_with_its_history_and_accounts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every hash is right, compared by the restore itself; the users are there, too."""
    archive, root = tmp_path / "looseleaf-20261118T212928Z.tar", tmp_path / "restored"
    archive.write_bytes(gzip.decompress(BACKUP.read_bytes()))
    type_command(capsys, "restore", archive, root)
    with Workspace.open(root) as workspace:
        page = workspace.agents.resolve("ada").shelf.page("notes.md")
        assert len(workspace.history.revisions(page)) > 5
    assert "morning" in type_command(capsys, "flows", "list", "--root", root)
    assert "eve" in type_command(capsys, "users", "list", "--root", root)
    assert "likes tea" in type_command(capsys, "memory", "read", "--agent", "ada", "--root", root)
