"""System tasks as operations: for one agent or for all, and the condition of each."""

from __future__ import annotations

import pytest

from looseleaf import Workspace
from looseleaf.errors import Unavailable
from looseleaf.errors.features import InvalidTaskParameters
from looseleaf.errors.pages import AgentMissing
from looseleaf.features.workflows.operations import system_tasks
from looseleaf.memory.provenance import JOB, Activity
from looseleaf.operations.agents import create_agent
from looseleaf.operations.doctor import check_workspace
from looseleaf.operations.settings import set_setting
from looseleaf.times import DAY_SECONDS, format_date
from looseleaf.values import replace
from tests.conftest import Clock

TASK = "daily_memory_generation"


def test_a_task_runs_for_every_active_agent(workspace: Workspace) -> None:
    """Or for the one that is named, among the parameters too, as the original's clients do."""
    create_agent(workspace.context, "bob")
    runs = system_tasks.run_now(workspace.context, TASK)
    assert sorted(run.agent for run in runs) == ["ada", "bob"]
    bob = workspace.agents.resolve("bob")
    params = {"agent_id": bob.id, "date": "2026-04-17"}
    [run] = system_tasks.run_now(workspace.context, TASK, task_params=params)
    assert run.agent == "bob"
    with pytest.raises(AgentMissing):
        system_tasks.run_now(workspace.context, TASK, agent="eve")
    with pytest.raises(InvalidTaskParameters):
        system_tasks.run_now(workspace.context, TASK, task_params={"speed": 1})
    assert len(system_tasks.list_runs(workspace.context)) == 3
    assert len(system_tasks.list_runs(workspace.context, agent="ada")) == 1


def test_a_job_fails_with_its_run(workspace: Workspace) -> None:
    """And a scheduled run belongs to the day that just closed."""
    agent = workspace.agents.resolve("ada")
    settings = replace(workspace.settings, daily_memory_enabled=True)
    job = replace(workspace.context, settings=settings, activity=Activity(JOB, "job-1/step-task"))
    scheduled = {"trigger": "schedule"}
    [run] = system_tasks.run_now(job, TASK, task_params=scheduled, agent="ada")
    yesterday = format_date(workspace.clock() - DAY_SECONDS)
    assert (run.trigger, run.details["date"]) == ("schedule", yesterday)
    with open(workspace.store.path(agent.shelf.page("MEMORY.md")), "wb") as page:
        page.write(b"\xff")
    with pytest.raises(Unavailable, match="UTF-8"):
        system_tasks.run_now(job, TASK, agent="ada")
    with pytest.raises(InvalidTaskParameters, match="trigger"):
        system_tasks.run_now(workspace.context, TASK, task_params=scheduled)


def test_the_switch_takes_effect_at_once(workspace: Workspace) -> None:
    """It is a setting that can be made while running."""
    [run] = system_tasks.run_now(workspace.context, TASK)
    assert "daily_memory_enabled is off" in run.reason
    set_setting(workspace.context, "daily_memory_enabled", setting=True)
    context = replace(workspace.context, settings=workspace.database.settings())
    [run] = system_tasks.run_now(context, TASK)
    assert "no model" in run.reason


def test_a_task_that_fails_again_and_again_is_seen(workspace: Workspace, clock: Clock) -> None:
    """In the list, in the status and by the doctor."""
    agent = workspace.agents.resolve("ada")
    workspace.store.path(agent.shelf.page("MEMORY.md"))
    with open(workspace.store.path(agent.shelf.page("MEMORY.md")), "wb") as page:
        page.write(b"\xff")
    settings = replace(workspace.settings, daily_memory_enabled=True)
    context = replace(workspace.context, settings=settings)
    for _ in range(3):
        clock.advance(days=1)
        system_tasks.run_now(context, TASK)
    [task] = [task for task in system_tasks.list_tasks(context) if task.task_type == TASK]
    assert (task.bad_runs, task.needs_attention) == (3, True)
    assert system_tasks.show_system_status(context).needs_attention == (f"{TASK} (ada)",)
    details = [item.detail for item in check_workspace(context) if item.check == "upkeep"]
    assert any("failed 3 times in a row" in detail for detail in details)
