"""Flows from the command line."""

from __future__ import annotations

import pytest

from tests.cli.fixtures import Run


@pytest.fixture(autouse=True)
def news(run: Run) -> None:
    """Make a pipeline."""
    run("pipelines", "create", "News")


def test_a_flow_is_made_shown_changed_and_deleted(run: Run) -> None:
    """With a schedule in words."""
    assert "looseleaf flows create PIPELINE NAME" in run("flows", "list").text
    created = run("flows", "create", "news", "Morning", "--schedule", "0 6 * * *")
    assert created.text == "Created flow morning (id 1) of pipeline news: cron 0 6 * * *.\n"
    paused = run("flows", "update", "morning", "--paused")
    assert paused.text == "Changed flow morning (id 1) of pipeline news: cron 0 6 * * * (paused).\n"
    running = run("flows", "update", "1", "--running", "--name", "Early").text
    assert running.endswith("cron 0 6 * * *.\n")
    once = run("flows", "update", "1", "--at", "2026-04-17T09:30:00Z").text
    assert once.endswith("once at 2026-04-17T09:30:00Z.\n")
    shown = run("flows", "show", "morning").text
    assert shown.startswith("Early (flow 1, morning) of pipeline news\nAgent: main\n")
    assert run("flows", "update", "1").code == 2
    assert run("flows", "update", "1", "--set", "ai={}").code == 2
    assert run("flows", "list", "--pipeline", "news").text.splitlines()[1].split()[:3] == [
        "1",
        "morning",
        "news",
    ]
    copy = run("flows", "copy", "morning", "--name", "Evening").text
    assert copy.startswith("Created flow evening (id 2) of pipeline news: once")
    assert run("flows", "delete", "morning", "--yes").text == (
        "Deleted flow morning (id 1) with 0 files. Jobs stay.\n"
    )
    assert run("flows", "show", "1").code == 3


def test_prompts_are_queued(run: Run) -> None:
    """One by one, or all at once."""
    run("flows", "create", "news", "Morning", "--prompt", "one", "--queue-mode", "drain")
    assert run("flows", "queue", "morning", "- two").text == "Queued prompt 2 of flow morning.\n"
    document = run("flows", "show", "morning", "--format", "json").json
    assert (document["prompt_queue"], document["queue_mode"]) == (["one", "- two"], "drain")
    assert "  2. - two" in run("flows", "show", "morning").text


def test_memory_files_of_a_flow(run: Run) -> None:
    """Apart from those of its pipeline."""
    run("flows", "create", "news", "Morning", "--memory-file", "a.md")
    assert run("flows", "memory-files", "morning", "--add", "b.md").text == "a.md\nb.md\n"
    assert run("flows", "memory-files", "morning", "--add", "USER.md").code == 2
    assert run("flows", "memory-files", "morning", "--format", "json").json == {
        "memory_files": ["a.md", "b.md"]
    }
