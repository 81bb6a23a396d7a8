"""Prompts that people replace."""

from __future__ import annotations

import pytest

from looseleaf import Workspace
from looseleaf.errors.features import InvalidPrompt, TaskPromptMissing
from looseleaf.features.workflows.parts import system_tasks_of
from looseleaf.features.workflows.system_tasks import SystemTask, TaskPrompts

GOOD = "Tidy {{memory_content}}. Answer with ===PERSISTENT=== and ===ARCHIVED===."


@pytest.fixture
def task(workspace: Workspace) -> SystemTask:
    """Return the built-in task."""
    return system_tasks_of(workspace).get("daily_memory_generation")


def test_a_prompt_is_replaced_and_reset(workspace: Workspace, task: SystemTask) -> None:
    """Another process sees it at once."""
    prompts = TaskPrompts(workspace.settings.root)
    before = prompts.info(task, "daily_memory")
    assert (before.has_override, before.effective_source) == (False, "builtin")
    info = prompts.set(task, "daily_memory", GOOD)
    assert (info.override, info.effective, info.effective_source) == (GOOD, GOOD, "override")
    assert info.effective_hash != before.effective_hash
    assert TaskPrompts(workspace.settings.root).text(task, "daily_memory") == GOOD
    assert prompts.reset(task, "daily_memory") == before
    assert prompts.reset(task, "daily_memory") == before
    assert prompts.list([task]) == [before]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (" \n", "it is empty"),
        (GOOD.replace("{{memory_content}}", "it"), "lacks {{memory_content}}"),
        (GOOD.replace("===ARCHIVED===", ""), "lacks ===ARCHIVED==="),
        (GOOD + "x" * 100_000, "more than 100,000"),
    ],
)
def test_a_prompt_that_could_not_work_is_refused(
    workspace: Workspace, task: SystemTask, text: str, reason: str
) -> None:
    """And the one before stays in force."""
    prompts = TaskPrompts(workspace.settings.root)
    prompts.set(task, "daily_memory", GOOD)
    with pytest.raises(InvalidPrompt, match=reason):
        prompts.set(task, "daily_memory", text)
    assert prompts.text(task, "daily_memory") == GOOD


def test_a_key_that_there_is_not(workspace: Workspace, task: SystemTask) -> None:
    """The keys there are, are named."""
    with pytest.raises(TaskPromptMissing, match="Available prompts: daily_memory"):
        TaskPrompts(workspace.settings.root).set(task, "weekly", GOOD)
