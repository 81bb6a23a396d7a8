"""`looseleaf upkeep …`: what a run would do, does and did, and taking it back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.fixtures import Run

PAGE = "# Memory\n\n" + "".join(
    f"## Topic {number}\n\n" + f"- fact {number} is here\n" * 100 + "\n" for number in range(30)
)


@pytest.fixture
def memory(command_root: Path) -> Path:
    """Switch upkeep on, for a page that is far too large."""
    (command_root / "looseleaf.toml").write_text("daily_memory_enabled = true\n")
    file = command_root / "agents/main/MEMORY.md"
    file.write_text(PAGE)
    return file


def test_preview_writes_nothing(run: Run, memory: Path) -> None:
    """It shows the diff."""
    answer = run("upkeep", "preview", "--date", "2026-04-17")
    assert answer.code == 0
    assert "overflow_split" in answer.text
    assert "-- fact 29 is here" in answer.text
    assert memory.read_text() == PAGE
    assert not (memory.parent / "daily").exists()
    assert "-" in run("upkeep", "preview", "--format", "json").json["diff"]


def test_a_run_is_shown_and_undone(run: Run, memory: Path) -> None:
    """The ledger says where each line went; undo restores both pages."""
    answer = run("upkeep", "run", "--date", "2026-04-17")
    assert (answer.code, "overflow_split" in answer.text) == (0, True)
    day = memory.parent / "daily/2026/04/17.md"
    assert len(memory.read_text()) <= 8192
    assert "- fact 29 is here" in day.read_text()
    assert "overflow_split" in run("upkeep", "log").text
    shown = run("upkeep", "show").text
    assert "Topic 29" in shown
    assert "daily/2026/04/17.md" in shown
    document = run("upkeep", "show", "--format", "json").json
    assert sum(entry["lines"] for entry in document["ledger"]) > 2000
    assert document["can_undo"] is True
    assert run("upkeep", "undo", "--yes").code == 0
    assert memory.read_text() == PAGE
    assert not day.exists()
    assert run("upkeep", "show", "--format", "json").json["state"] == "undone"
    assert run("upkeep", "undo", "--yes").code == 3


def test_undo_keeps_an_edit(run: Run, memory: Path) -> None:
    """And says so."""
    run("upkeep", "run")
    memory.write_text(memory.read_text() + "\n- by hand\n")
    undone = run("upkeep", "undo", "--yes")
    assert (undone.code, "changed in it since stays" in undone.text) == (0, True)
    lines = memory.read_text().splitlines()
    assert lines.count("- by hand") == 1
    assert set(PAGE.splitlines()) <= set(lines)


def test_a_threshold_that_is_set_while_running_holds_at_once(run: Run, memory: Path) -> None:
    """Also for a run by hand; the file is not touched."""
    before = len(memory.read_text())
    assert run("settings", "set", "daily_memory_overflow_target_size", "20000").code == 0
    assert run("upkeep", "run").code == 0
    assert 16_000 < len(memory.read_text()) <= 20_000 < before


def test_a_run_that_failed_has_an_exit_code(run: Run, command_root: Path, memory: Path) -> None:
    """The model says nothing that could be used."""
    settings = 'daily_memory_enabled = true\ndefault_model = "echo"\n'
    (command_root / "looseleaf.toml").write_text(settings + "daily_memory_overflow_threshold = 0\n")
    answer = run("upkeep", "run")
    assert (answer.code, "rejected" in answer.text) == (1, True)
    assert memory.read_text() == PAGE
    assert "Refused in turn 1" in run("upkeep", "show").text


def test_a_run_that_there_is_not(run: Run) -> None:
    """The list of runs is named."""
    answer = run("upkeep", "show", "nothing")
    assert (answer.code, "looseleaf upkeep log" in answer.err) == (3, True)
