"""Which tasks people should look at."""

from __future__ import annotations

from looseleaf import Workspace
from looseleaf.features.workflows.parts import system_tasks_of
from looseleaf.features.workflows.system_tasks import (
    RunLog,
    RunRecord,
    check_tasks,
    list_conditions,
)
from looseleaf.values import replace

TASK = "daily_memory_generation"
DAY = 86_400.0


def conditions(workspace: Workspace) -> list[object]:
    """Return the findings of the check."""
    settings = replace(workspace.settings, daily_memory_enabled=True)
    tasks = [system_tasks_of(workspace).get(TASK)]
    agents = workspace.agents.records()
    listed = list_conditions(tasks, agents, settings, workspace.clock())
    return [task.detail for task in check_tasks(listed) if task.status != "ok"]


def add(workspace: Workspace, status: str, days_ago: float, trigger: str = "schedule") -> None:
    """Add the record of a run."""
    agent = workspace.agents.resolve("ada")
    time = workspace.clock() - days_ago * DAY
    record = RunRecord(
        id=f"{9 - int(days_ago)}",
        task_type=TASK,
        agent_id=agent.id,
        agent=agent.slug,
        trigger=trigger,
        surface="library",
        start=time,
        end=time,
        status=status,
        reason="why",
    )
    RunLog(workspace.settings.root).add(record)


def test_a_task_that_never_ran_is_fine(workspace: Workspace) -> None:
    """It may not be scheduled at all."""
    assert conditions(workspace) == []


def test_a_scheduled_run_that_is_missing_is_overdue(workspace: Workspace) -> None:
    """After two days."""
    add(workspace, "compacted", 3)
    [detail] = conditions(workspace)
    assert "is overdue" in str(detail)
    add(workspace, "compacted", 1)
    assert conditions(workspace) == []


def test_what_is_rejected_again_and_again_is_told(workspace: Workspace) -> None:
    """Three in a row; one good run clears it."""
    for days in (2, 1):
        add(workspace, "rejected", days)
    assert conditions(workspace) == []
    add(workspace, "failed", 0)
    [detail] = conditions(workspace)
    assert "failed 3 times in a row: why" in str(detail)
