"""Retention as system tasks: registered, scheduled, switched off, and run with a report."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.errors import Forbidden, InvalidSetting
from looseleaf.features.chat.session import chats_of
from looseleaf.features.upkeep.operations import run_retention
from looseleaf.features.upkeep.retention import NOUNS, RULES, describe_counts
from looseleaf.features.workflows.operations import system_tasks
from looseleaf.features.workflows.operations.jobs import list_schedules
from looseleaf.features.workflows.parts import system_tasks_of
from looseleaf.operations.doctor import check_workspace
from looseleaf.settings import Settings, load
from looseleaf.times import DAY_SECONDS
from looseleaf.values import field_names, replace
from tests.conftest import Clock
from tests.features.upkeep.test_removal import begin_session

CHATS = "retention_chat_sessions"


def configured(workspace: Workspace, text: str) -> Workspace:
    """Open the workspace again with other settings."""
    (Path(workspace.root) / "looseleaf.toml").write_text(text)
    workspace.close()
    return Workspace.open(workspace.root, clock=workspace.clock)


def test_every_rule_has_a_task_a_schedule_and_settings(workspace: Workspace) -> None:
    """All are on if nobody switched them off, and run once a night."""
    tasks = {task.type: task for task in system_tasks_of(workspace).all()}
    schedules = {entry.schedule: entry for entry in list_schedules(workspace.context)}
    assert schedules["task:retention"].status == "active"
    for rule in RULES:
        task = tasks[rule.task_type]
        assert (task.per_agent, task.supports_run, task.permission) == (False, True, "operate")
        assert task.is_enabled(workspace.settings)
        assert all(name in field_names(Settings) for name in rule.settings)


def test_a_run_leaves_a_report(workspace: Workspace, clock: Clock) -> None:
    """A dry run counts; a run removes, and its record says how many."""
    begin_session(workspace, "old")
    clock.advance(days=91)
    dry = {"dry_run": "yes"}
    [run] = system_tasks.run_now(workspace.context, CHATS, task_params=dry)
    assert (run.status, run.reason) == ("counted", "1 conversation")
    assert chats_of(workspace).sessions.list()[1] == 1
    [run] = system_tasks.run_now(workspace.context, CHATS, task_params={"dry_run": False})
    assert (run.status, run.details["counts"]["sessions"]) == ("removed", 1)
    [run] = system_tasks.run_now(workspace.context, CHATS)
    assert (run.status, run.reason) == ("nothing", "nothing is past its retention")


def test_the_right_to_settings_removes_nothing(workspace: Workspace) -> None:
    """To remove data takes more than to run the other tasks."""
    accounts = workspace.accounts()
    user = accounts.users.find(1)
    assert user is not None
    principal = replace(
        workspace.context.principal,
        kind="session",
        user_id=7,
        capabilities=frozenset({"manage_settings"}),
    )
    context = replace(workspace.context, principal=principal)
    with pytest.raises(Forbidden):
        system_tasks.run_now(context, "retention_audit")
    assert RULES[5].task_type == "retention_audit"


def test_a_task_can_be_switched_off(workspace: Workspace) -> None:
    """Then no nightly run removes anything; a name that is no task is seen by the doctor."""
    off = 'system_tasks_off = ["retention_audit", "retention_audits"]\n'
    again = configured(workspace, off)
    tasks = {task.task_type: task.enabled for task in system_tasks.list_tasks(again.context)}
    assert (tasks["retention_audit"], tasks["retention_jobs"]) == (False, True)
    reports = run_retention(again.context)
    assert "retention_audit" not in {report.task_type for report in reports}
    details = [item.detail for item in check_workspace(again.context) if item.check == "upkeep"]
    assert "there is no system task 'retention_audits' to be off" in details
    again.close()


def test_no_time_of_less_than_a_day_is_taken(workspace: Workspace) -> None:
    """A 0 that was meant as "for ever" would remove everything."""
    file = Path(workspace.root) / "looseleaf.toml"
    for rule in RULES:
        for name in rule.settings:
            if name in ("chat_empty_hours", "retention_days", "retention_versions"):
                continue
            file.write_text(f"{name} = 0\n")
            with pytest.raises(InvalidSetting, match="system_tasks_off"):
                load(workspace.root)
    file.write_text("job_retention_days = 1.5\n")
    assert load(workspace.root).job_retention_days * DAY_SECONDS == 129_600


def test_counts_are_said_in_words() -> None:
    """One, several, and none at all."""
    assert describe_counts({"sessions": 1, "empty_sessions": 0}) == "1 conversation"
    assert describe_counts({"jobs": 1_200}) == "1,200 jobs"
    assert describe_counts(dict.fromkeys(NOUNS, 0)) == "nothing is past its retention"
