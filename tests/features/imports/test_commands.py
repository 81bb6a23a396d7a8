"""`looseleaf import`: the report for people and for programs, and the exit codes."""

from __future__ import annotations

from pathlib import Path

from tests.cli.fixtures import Run
from tests.features.imports.sources import DATAMACHINE, OPENCLAW, write_tree


def test_a_dry_run_and_a_run(run: Run, command_root: Path, tmp_path: Path) -> None:
    """The dry run writes nothing; the run says what it did, and why it left files out."""
    source = str(write_tree(tmp_path / "openclaw", OPENCLAW))
    dry = run("import", source, "--dry-run")
    assert dry.code == 0
    assert "would change" in dry.text
    assert not (command_root / "agents/main/TOOLS.md").exists()
    answer = run("import", source)
    assert answer.code == 0
    assert "10 pages changed, 5 left out." in answer.text
    assert "BOOTSTRAP.md" in answer.text
    assert (command_root / "agents/main/TOOLS.md").read_text() == OPENCLAW["TOOLS.md"]
    assert "0 pages changed, 10 as before" in run("import", source).text


def test_the_report_as_json(run: Run, command_root: Path, tmp_path: Path) -> None:
    """One document with every page and every file that was left out."""
    assert command_root.exists()
    source = str(write_tree(tmp_path / "files", DATAMACHINE))
    document = run("import", source, "--format", "json").json
    assert document["kind"] == "datamachine"
    assert document["new_agents"] == ["ada", "scout"]
    assert {entry["source"] for entry in document["left_out"]} == {
        "pipeline-3/context/style.md",
        "pipeline-3/flow-4/jobs/",
        "shared/SITE.md",
    }


def test_detection_alone(run: Run, command_root: Path, tmp_path: Path) -> None:
    """It ends with code 1 if no layout is known."""
    assert command_root.exists()
    source = write_tree(tmp_path / "openclaw", OPENCLAW)
    assert run("import", str(source), "--detect").text.startswith(
        "openclaw: OpenClaw, by AGENTS.md"
    )
    other = write_tree(tmp_path / "other", {"a.txt": "x\n"})
    assert run("import", str(other), "--detect").code == 1
    assert run("import", str(other)).code == 2


def test_a_missing_source(run: Run, command_root: Path) -> None:
    """It is not found, and the message names it."""
    answer = run("import", str(command_root.parent / "nowhere"))
    assert answer.code == 3
    assert "nowhere" in answer.err


def test_a_page_that_cannot_be_written(run: Run, command_root: Path, tmp_path: Path) -> None:
    """The command fails, the report names the page, and the others are imported."""
    source = write_tree(tmp_path / "openclaw", OPENCLAW)
    (command_root / "agents/main/TOOLS.md").write_bytes(b"\xff\n")  # no text that could be merged
    answer = run("import", str(source))
    assert answer.code == 1
    assert "1 failed" in answer.text
    assert (command_root / "agents/main/SOUL.md").read_text() == OPENCLAW["SOUL.md"]
