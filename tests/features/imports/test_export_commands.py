"""`memory export` and `memory publish`, with their exit codes."""

from __future__ import annotations

from pathlib import Path

from tests.cli.fixtures import Run


def test_pages_go_to_a_folder(run: Run, command_root: Path, tmp_path: Path) -> None:
    """A file that has another text is kept, and the command says so by its code."""
    target = tmp_path / "out"
    answer = run("memory", "export", str(target))
    assert answer.code == 0
    assert "3 pages of main" in answer.text
    assert (target / "SOUL.md").read_bytes() == (command_root / "agents/main/SOUL.md").read_bytes()
    (target / "SOUL.md").write_text("mine\n")
    kept = run("memory", "export", str(target))
    assert kept.code == 1
    assert "Kept as it is: SOUL.md" in kept.text
    assert (
        run("memory", "export", str(target), "--replace", "--format", "json").json["written"] == 1
    )


def test_memory_goes_into_a_file_of_a_project(run: Run, command_root: Path, tmp_path: Path) -> None:
    """The same command again changes nothing."""
    assert command_root.exists()
    file = tmp_path / "CLAUDE.md"
    file.write_text("# Project\n")
    assert run("memory", "publish", str(file)).code == 0
    text = file.read_text()
    assert text.startswith("# Project\n")
    assert run("memory", "publish", str(file), "--format", "json").json["agent"] == "main"
    assert file.read_text() == text
