"""The doctor on the command line."""

from __future__ import annotations

from pathlib import Path

from tests.cli.fixtures import Run


def test_a_sound_workspace_is_in_order(run: Run) -> None:
    """And the exit code says so."""
    answer = run("doctor", "--verify")
    assert answer.code == 0
    assert answer.text.endswith("Everything is in order.\n")
    document = run("doctor", "--format", "json").json
    assert document["healthy"] is True
    assert {"check", "status", "detail", "advice"} == document["findings"][0].keys()


def test_a_fault_has_an_exit_code(run: Run, root: Path) -> None:
    """And what to do about it."""
    (root / "agents/main/agent.json").write_text("{")
    answer = run("doctor")
    assert answer.code == 1
    assert "FAULT    agents: main:" in answer.text
    assert "Mend agents/main/agent.json." in answer.text


def test_settings_that_cannot_be_read_are_a_fault(run: Run, root: Path) -> None:
    """Not a failure of the doctor."""
    (root / "looseleaf.toml").write_text("nonsense = 1\n")
    answer = run("doctor")
    assert answer.code == 1
    assert "nonsense" in answer.text
