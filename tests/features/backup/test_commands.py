"""Backups and their restoring at the command line."""

from __future__ import annotations

from pathlib import Path

from looseleaf.features.backup.commands import format_age
from tests.cli.fixtures import Run


def test_a_workspace_goes_there_and_back(run: Run, tmp_path: Path) -> None:
    """Four commands, and the doctor agrees."""
    folder = tmp_path / "backups"
    run("memory", "append", "Facts", "- the fact")
    made = run("backup", str(folder))
    assert made.code == 0
    (archive,) = folder.iterdir()
    assert made.text.startswith(f"Wrote {archive}: ")
    listed = run("backup", "list", str(folder))
    assert archive.name in listed.text
    assert "less than a minute" in listed.text
    assert "is whole" in run("backup", "verify", str(archive)).text
    restored = tmp_path / "restored"
    answer = run("restore", str(archive), str(restored))
    assert answer.code == 0
    assert f"looseleaf --root {restored} doctor --verify" in answer.text
    assert "- the fact" in (restored / "agents/main/MEMORY.md").read_text()
    again = run("restore", str(archive), str(restored))
    assert again.code == 4
    assert "not empty" in again.err


def test_documents_for_programs(run: Run, tmp_path: Path) -> None:
    """Each command gives one."""
    folder = str(tmp_path / "backups")
    made = run("backup", "create", folder, "--format", "json").json
    assert made["files"] > 5
    (listed,) = run("backup", "list", folder, "--format", "json").json["backups"]
    assert listed["path"] == made["path"]
    assert run("backup", "verify", made["path"], "--format", "json").json["fault"] == ""
    target = str(tmp_path / "restored")
    document = run("restore", made["path"], target, "--format", "json").json
    assert (document["root"], document["files"]) == (target, made["files"])


def test_a_damaged_backup_has_an_exit_code(run: Run, tmp_path: Path) -> None:
    """So that a script can tell, and nothing is restored from it."""
    path = Path(run("backup", "create", str(tmp_path), "--format", "json").json["path"])
    path.write_bytes(path.read_bytes()[:-600])
    answer = run("backup", "verify", str(path))
    assert answer.code == 1
    assert "is not in order: " in answer.text
    assert "NO" in run("backup", "list", str(tmp_path)).text
    refused = run("restore", str(path), str(tmp_path / "new"))
    assert refused.code == 2
    assert not (tmp_path / "new").exists()


def test_an_age_is_written_for_people() -> None:
    """In its largest unit."""
    ages = {0: "less than a minute", 60: "1 minute", 7_199: "1 hour", 200_000: "2 days"}
    assert {seconds: format_age(seconds) for seconds in ages} == ages
