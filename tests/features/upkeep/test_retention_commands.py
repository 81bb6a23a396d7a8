"""`looseleaf retention …`: how long data is kept, a dry run, and a run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.fixtures import Run


@pytest.fixture
def old_upload(command_root: Path) -> Path:
    """Put an uploaded file there that was last changed long ago."""
    file = command_root / "pipeline-1/flow-1/flow-1-files/old.csv"
    file.parent.mkdir(parents=True)
    file.write_text("x")
    os.utime(file, (1, 1))
    return file


def test_what_is_kept_is_shown(run: Run) -> None:
    """Each kind with its settings and its last run."""
    text = run("retention", "show").text
    assert "chat_retention_days = 90" in text
    assert "never" in text
    rules = run("retention", "show", "--format", "json").json["retention"]
    assert [rule["runs"] for rule in rules] == [[]] * 7


def test_a_dry_run_removes_nothing_and_a_run_does(run: Run, old_upload: Path) -> None:
    """The run asks first, unless it is told not to."""
    for words in (("preview",), ("run", "--dry-run"), ("preview", "files")):
        answer = run("retention", *words)
        assert (answer.code, "1 uploaded file" in answer.text) == (0, True)
        assert "Would remove 1 in all." in answer.text
    assert old_upload.exists()
    assert run("retention", "run").code != 0  # nobody answers the question
    assert old_upload.exists()
    answer = run("retention", "run", "files", "--yes")
    assert (answer.code, "Removed 1 in all." in answer.text) == (0, True)
    assert not old_upload.exists()
    assert "1 uploaded file" in run("retention", "show").text


def test_an_unknown_kind_is_refused(run: Run) -> None:
    """With the kinds there are."""
    answer = run("retention", "run", "pages", "--yes")
    assert (answer.code, "task_runs" in answer.err) == (3, True)
