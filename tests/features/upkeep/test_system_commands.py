"""`looseleaf system …`: system tasks at the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.fixtures import Run

TASK = "daily_memory_generation"
PROMPT = "Tidy {{memory_content}}: ===PERSISTENT=== or ===ARCHIVED===\n"


@pytest.fixture
def enabled(command_root: Path) -> Path:
    """Switch upkeep on."""
    (command_root / "looseleaf.toml").write_text(
        'daily_memory_enabled = true\ndefault_model = "echo"\n'
    )
    return command_root


def test_a_task_is_listed_and_run(run: Run, enabled: Path) -> None:
    """With its state, and a record of each run."""
    assert enabled.exists()
    assert "11 system tasks, 9 of them on." in run("system", "status").text
    assert "never" in run("system", "tasks").text
    answer = run("system", "run", TASK, "--agent", "main", "--param", "date=2026-04-17")
    assert (answer.code, "skipped" in answer.text) == (0, True)
    [record] = run("system", "runs", "--format", "json").json["runs"]
    assert (record["status"], record["details"]["date"]) == ("skipped", "2026-04-17")
    tasks = run("system", "tasks", "--format", "json").json["tasks"]
    [task] = [task for task in tasks if task["task_type"] == TASK]
    assert (task["last_status"], task["enabled"], task["agent"]) == ("skipped", True, "main")


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (("run", "tidy"), 3, "Available tasks"),
        (("run", TASK, "--agent", "eve"), 3, "eve"),
        (("run", TASK, "--param", "speed=1"), 2, "does not take speed"),
        (("run", TASK, "--param", "date"), 2, "NAME=VALUE"),
        (("run", TASK, "--params", "["), 2, "not JSON"),
        (("run", TASK, "--params", "[]"), 2, "JSON object"),
        (("run", TASK, "--param", "date=soon"), 2, "not a day"),
        (("prompt-get", TASK, "weekly"), 3, "Available prompts"),
    ],
)
def test_what_cannot_be_is_said_clearly(
    run: Run, words: tuple[str, ...], code: int, reason: str
) -> None:
    """And nothing runs."""
    answer = run("system", *words)
    assert (answer.code, reason in answer.err) == (code, True)
    assert run("system", "runs", "--format", "json").json == {"runs": []}


def test_a_prompt_is_replaced_and_reset(run: Run) -> None:
    """By standard input; a text without a marker is refused."""
    default = run("system", "prompt-get", TASK, "daily_memory").text
    assert "===PERSISTENT===" in default
    assert run("system", "prompt-set", TASK, "daily_memory", stdin=PROMPT.encode()).code == 0
    assert run("system", "prompt-get", TASK, "daily_memory").text == PROMPT
    assert "override" in run("system", "prompts").text
    answer = run("system", "prompt-set", TASK, "daily_memory", "Tidy it.")
    assert (answer.code, "lacks {{memory_content}}" in answer.err) == (2, True)
    assert run("system", "prompt-reset", TASK, "daily_memory").code == 0
    assert run("system", "prompt-get", TASK, "daily_memory").text == default
