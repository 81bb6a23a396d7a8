"""What a system task declares, and what the registry refuses."""

from __future__ import annotations

import pytest

from looseleaf import Workspace
from looseleaf.errors.features import InvalidTask, TaskMissing
from looseleaf.features.workflows.parts import system_tasks_of
from looseleaf.features.workflows.system_tasks import (
    SystemTask,
    SystemTasks,
    TaskPrompt,
    TaskResult,
)
from looseleaf.values import replace

TASK = SystemTask(
    type="tidy", label="Tidy", description="Tidies.", run=lambda _run: TaskResult("done")
)


def test_the_built_in_task_is_registered(workspace: Workspace) -> None:
    """With the words of Data Machine."""
    task = system_tasks_of(workspace).get("daily_memory_generation")
    assert (task.label, task.setting, task.supports_run) == (
        "Daily Memory",
        "daily_memory_enabled",
        True,
    )
    assert not task.is_enabled(workspace.settings)
    assert task.is_enabled(replace(workspace.settings, daily_memory_enabled=True))
    assert [prompt.key for prompt in task.prompts] == ["daily_memory"]


def test_a_task_that_could_not_run_is_refused() -> None:
    """Twice the same, a setting that there is not, two prompts of one key."""
    tasks = SystemTasks(["daily_memory_enabled"])
    tasks.register(TASK)
    prompt = TaskPrompt("one", "One", "It.", "text")
    faults = {
        "there is one": TASK,
        "no setting 'speed'": replace(TASK, type="fast", setting="speed"),
        "the same key": replace(TASK, type="asks", prompts=(prompt, prompt)),
    }
    for reason, task in faults.items():
        with pytest.raises(InvalidTask, match=reason):
            tasks.register(task)
    with pytest.raises(TaskMissing, match="Available tasks: tidy"):
        tasks.get("tidi")
