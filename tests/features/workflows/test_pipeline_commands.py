"""Pipelines from the command line."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.fixtures import Run


def test_a_pipeline_is_made_shown_changed_and_deleted(run: Run, command_root: Path) -> None:
    """For people and for programs."""
    assert "looseleaf pipelines create NAME" in run("pipelines", "list").text
    created = run(
        "pipelines", "create", "Daily Music News", "--memory-file", "content-strategy.md",
        "--prompt", "Write the news.", "--tool-policy", '{"mode": "deny"}',
    )  # fmt: skip
    assert created.text == (
        "Created pipeline daily-music-news (id 1) of agent main.\nSteps: no steps yet\n"
    )
    (command_root / "task.txt").write_text("Write.\nTwice.")
    update = run("pipelines", "update", "1", "--prompt", "@task.txt", "--name", "News")
    assert update.text.startswith("Changed pipeline daily-music-news (id 1)")
    shown = run("pipelines", "show", "daily-music-news").text
    assert "News (pipeline 1, daily-music-news), agent main\n" in shown
    assert "Memory files: content-strategy.md\n" in shown
    assert "Task:\n  Write.\n  Twice.\n" in shown
    document = run("pipelines", "show", "1", "--format", "json").json
    assert document["system_prompt"] == "Write.\nTwice."
    assert run("pipelines", "update", "1", "--prompt", "x", "--if-match", "0").code == 5
    assert run("pipelines", "update", "1").code == 2
    assert run("pipelines", "update", "1", "--step", "gone").code == 2
    assert run("pipelines", "list").text.splitlines()[1].split()[:3] == [
        "1",
        "daily-music-news",
        "main",
    ]
    assert run("pipelines", "delete", "1").code == 2
    removal = run("pipelines", "delete", "1", "--yes").text
    assert (
        removal
        == "Deleted pipeline daily-music-news (id 1) with no flows and 0 files. Jobs stay.\n"
    )
    assert run("pipelines", "show", "1").code == 3


def test_a_pipeline_travels_as_a_file(run: Run, command_root: Path) -> None:
    """Out of one workspace, into an agent of another."""
    run("pipelines", "create", "News", "--memory-file", "a.md")
    run("flows", "create", "news", "Morning", "--schedule", "daily")
    exported = run("pipelines", "export", "news")
    (command_root / "news.json").write_bytes(exported.out)
    assert [flow["slug"] for flow in exported.json["flows"]] == ["morning"]
    imported = run("pipelines", "import", "news.json", "--format", "json").json
    assert (imported["slug"], imported["flows"]) == ("news-2", 1)
    assert run("pipelines", "import", "-", stdin=exported.out).code == 0
    (command_root / "bad.json").write_text("[]")
    assert run("pipelines", "import", "bad.json").code == 2
    assert run("pipelines", "import", "none.json").code == 2
    copy = run("pipelines", "copy", "1", "--name", "Weekly").text
    assert copy.startswith("Created pipeline weekly (id 4)")


def test_memory_files_are_listed_and_changed(run: Run, command_root: Path) -> None:
    """A core file is refused; nothing to change is said."""
    assert command_root.exists()
    run("pipelines", "create", "News")
    assert run("pipelines", "memory-files", "news").text == "No pages besides the core files.\n"
    added = run("pipelines", "memory-files", "news", "--add", "a.md", "--add", "b.md")
    assert added.text == "a.md\nb.md\n"
    same = run("pipelines", "memory-files", "news", "--add", "a.md").text
    assert same.startswith("Nothing changed")
    assert run("pipelines", "memory-files", "news", "--add", "SOUL.md").code == 2
    removed = run("pipelines", "memory-files", "news", "--remove", "a.md", "--format", "json")
    assert removed.json == {"memory_files": ["b.md"]}


def test_the_prompt_of_a_pipeline_is_explained(run: Run, command_root: Path) -> None:
    """In the mode pipeline, without saying so."""
    assert command_root.exists()
    run("memory", "write", "strategy.md", "--page", "Short sentences.")
    run("pipelines", "create", "News", "--memory-file", "strategy.md", "--prompt", "Write.")
    run("flows", "create", "news", "Morning")
    document = run("prompt", "explain", "--flow", "morning", "--format", "json").json
    names = {candidate["name"]: candidate["rule"] for candidate in document["candidates"]}
    assert (document["mode"], names["strategy.md"]) == ("pipeline", "injected")
    text = run("prompt", "show", "--pipeline", "news").text
    assert "Short sentences." in text
    assert "PIPELINE GOALS:\nWrite." in text
    assert run("prompt", "check", "--pipeline", "news").code == 0
    assert run("prompt", "explain", "--pipeline", "gone").code == 3
    assert json.loads(run("prompt", "show", "--pipeline", "news", "--format", "json").out)


def test_files_are_uploaded_listed_and_deleted(run: Run, command_root: Path) -> None:
    """Of a pipeline, if prompts have them, and of a flow."""
    run("pipelines", "create", "News")
    run("flows", "create", "news", "Morning")
    (command_root / "style.txt").write_text("Name the label.")
    assert run("pipelines", "files", "news").text == "No files yet. Upload one: --add PATH\n"
    listed = run("pipelines", "files", "news", "--add", "style.txt", "--format", "json").json
    assert [file["path"] for file in listed["files"]] == ["pipeline-1/context/style.txt"]
    assert "Name the label." in run("prompt", "show", "--pipeline", "news").text
    flow = run("flows", "files", "morning", "--add", "style.txt").text
    assert flow.splitlines()[1].split()[:2] == ["style.txt", "15"]
    place = command_root / "pipeline-1" / "flow-1" / "flow-1-files" / "style.txt"
    assert place.read_text() == "Name the label."
    assert run("flows", "files", "morning", "--remove", "style.txt").code == 0
    assert run("flows", "files", "morning", "--remove", "style.txt").code == 3
    (command_root / "bad.exe").write_text("x")
    assert run("flows", "files", "morning", "--add", "bad.exe").code == 2
    assert run("flows", "files", "morning", "--add", "none.txt").code == 2
    removal = run("pipelines", "delete", "news", "--yes").text
    assert removal.endswith("with morning and 1 file. Jobs stay.\n")
