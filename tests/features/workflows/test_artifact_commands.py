"""What jobs left, from the command line."""

from __future__ import annotations

import json

from tests.cli.fixtures import Run

SOURCE = 'input={"source": "text", "text": "Jazz is back."}'
LEARN = 'memory_update={"target": "section", "section": "State"}'


def test_artifacts_of_a_job_are_listed_and_printed(run: Run) -> None:
    """As a table, as JSON, and one by its reference."""
    assert run("jobs", "run", "--step", SOURCE, "--step", LEARN).code == 0
    ref = "datamachine://jobs/1/artifacts/agent_memory/MEMORY.md"
    table = run("jobs", "artifacts", "1").text.splitlines()
    assert table[0].split() == ["REFERENCE", "BYTES", "IN", "A", "BUNDLE"]
    assert table[1].split()[0] == ref
    assert table[1].endswith("memory/agent/MEMORY.md")
    document = json.loads(run("jobs", "artifacts", "1", "--format", "json").text)
    assert document["artifact_refs"] == [ref]
    assert "Jazz is back." in run("jobs", "artifact-content", ref).text
    content = json.loads(run("jobs", "artifact-content", ref, "--format", "json").text)
    assert content["type"] == "agent_memory"


def test_a_job_without_a_transcript_says_so(run: Run) -> None:
    """Nor does it wait at a gate; a job that is not there is missing."""
    assert run("jobs", "run", "--step", SOURCE).code == 0
    assert run("jobs", "artifacts", "1").text == "The job left no artifacts.\n"
    assert "no artifact" in run("jobs", "transcript", "1").err
    assert "does not wait" in run("jobs", "gate", "1").err
    assert run("jobs", "artifacts", "9").code != 0


def test_old_data_is_counted_and_removed(run: Run) -> None:
    """Only with a yes."""
    counts = json.loads(run("jobs", "prune", "--dry-run", "--format", "json").text)
    assert set(counts.values()) == {0}
    assert run("jobs", "prune").code != 0
    assert run("jobs", "prune", "--yes").text.startswith("Removed 0 folders of packets")
