"""Upkeep as operations, against a model on loopback that speaks OpenAI's language."""

from __future__ import annotations

from pathlib import Path

from looseleaf import Workspace
from looseleaf.features.upkeep import operations
from looseleaf.features.workflows.operations import system_tasks
from tests.features.upkeep.daily_task.oracle import find_violations
from tests.models.scripted import Reply, Scripted, serve_script

PAGE = "# Memory\n\n" + "".join(
    f"## Topic {number}\n\n"
    + "".join(f"- fact {number}.{item} is here\n" for item in range(60))
    + "\n"
    for number in range(12)
)
KEPT = PAGE.partition("## Topic 5")[0]
ANSWER = f"===PERSISTENT===\n{KEPT}===ARCHIVED===\n{PAGE.removeprefix(KEPT)}"


def test_preview_run_and_undo_over_the_wire(tmp_path: Path) -> None:
    """A refused answer, feedback, a good one; then the ledger, and everything back."""
    with serve_script(Scripted()) as server:
        root = tmp_path / "root"
        Workspace.create(root, agent="ada").close()
        (root / "looseleaf.toml").write_text(
            'daily_memory_enabled = true\n[mode_models]\nsystem = "local:small"\n'
            f'[providers.local]\nbase_url = "{server.url}"\nkey = "sk-test"\n'
        )
        page = root / "agents/ada/MEMORY.md"
        page.write_text(PAGE)
        workspace = Workspace.open(root)
        server.script(Reply(ANSWER))
        preview = operations.preview(workspace.context, date="2026-04-17")
        assert (preview.status, preview.original_size) == ("compacted", len(PAGE))
        assert "-- fact 11.59 is here" in preview.diff
        assert page.read_text() == PAGE

        server.script(Reply(ANSWER.replace("fact 1.1 is", "fact 1.1 was")), Reply(ANSWER))
        [run] = system_tasks.run_now(
            workspace.context, "daily_memory_generation", task_params={"date": "2026-04-17"}
        )
        assert (run.status, run.details["turns"]) == ("compacted", 2)
        assert run.details["refusals"][0]["gate"] == "verbatim"
        last = server.requests[-1]["messages"][-1]
        assert "fact 1.1 was here" in last["content"]
        day = root / "agents/ada/daily/2026/04/17.md"
        assert find_violations(PAGE, page.read_text(), day.read_text()) == []

        shown = operations.show_run(workspace.context, run.id)
        assert shown.can_undo
        assert {entry.to for entry in shown.ledger} == {"daily/2026/04/17.md"}
        lines = PAGE.split("\n")
        for entry in shown.ledger:
            assert lines[entry.line - 1] in day.read_text()
        undone = operations.undo(workspace.context)
        assert undone.lines == sum(entry.lines for entry in shown.ledger)
        assert page.read_text() == PAGE
        assert not day.exists()
        workspace.close()
