"""The nightly backup and the hourly commit, as system tasks."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from looseleaf import Change, Workspace
from looseleaf.errors import WorkspaceUnavailable
from looseleaf.features.backup.operations import write_backup
from looseleaf.features.workflows.operations.jobs import list_schedules
from looseleaf.features.workflows.operations.system_tasks import RunInfo, list_tasks, run_now
from looseleaf.memory.provenance import Provenance
from tests.conftest import Clock


@pytest.fixture
def prepared(root: Path, clock: Clock) -> Workspace:
    """Return a workspace that keeps two backups."""
    (root / "looseleaf.toml").write_text('backup_folder = "../backups"\nbackup_keep = 2\n')
    return Workspace.create(root, agent="ada", clock=clock)


def run(workspace: Workspace, task: str) -> RunInfo:
    """Run a task of the workspace now."""
    [record] = run_now(workspace.context, task)
    return record


def test_old_backups_go_when_a_new_one_was_verified(prepared: Workspace, clock: Clock) -> None:
    """As many stay as the settings say, the newest ones."""
    names = []
    for _day in range(4):
        record = run(prepared, "backup")
        assert record.status == "backed_up"
        names.append(record.details["name"])
        clock.advance(days=1)
    folder = Path(prepared.root).parent / "backups"
    assert sorted(os.listdir(folder)) == names[2:]
    assert record.details["removed"] == [names[1]]


@pytest.mark.parametrize("lost", ["looseleaf.toml", "agents"])
def test_a_workspace_that_is_gone_pushes_out_no_backup(
    prepared: Workspace, clock: Clock, lost: str
) -> None:
    """Its disk may not be mounted: the run fails, and the older backups stay."""
    for _day in range(2):
        run(prepared, "backup")
        clock.advance(days=1)
    folder = Path(prepared.root).parent / "backups"
    before = sorted(os.listdir(folder))
    Path(prepared.root, lost).rename(Path(prepared.root).parent / "elsewhere")
    with pytest.raises(WorkspaceUnavailable):
        write_backup(prepared.settings, str(folder), clock())
    assert sorted(os.listdir(folder)) == before


def test_both_are_off_by_default(workspace: Workspace) -> None:
    """A folder, or the switch, turns them on; run by hand they say what is missing."""
    tasks = {task.task_type: task for task in list_tasks(workspace.context)}
    for name, setting in (("backup", "backup_folder"), ("git_commit", "git_commits")):
        assert (tasks[name].enabled, tasks[name].setting_key) == (False, setting)
        record = run(workspace, name)
        assert record.status == "skipped"
        assert setting in record.reason
    schedules = {entry.schedule: entry.status for entry in list_schedules(workspace.context)}
    assert schedules["task:backup"] == schedules["task:git_commit"] == "disabled"


def test_a_folder_switches_the_schedule_on(prepared: Workspace) -> None:
    """Every night, in the time zone of the site."""
    schedules = {entry.schedule: entry for entry in list_schedules(prepared.context)}
    assert schedules["task:backup"].status == "active"
    assert schedules["task:backup"].when == "cron 30 2 * * *"


def test_pages_are_committed_by_the_hour(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what changed since, and without a commit if nothing did."""
    monkeypatch.setenv("HOME", str(root.parent))
    (root / "looseleaf.toml").write_text("git_commits = true\n")
    workspace = Workspace.create(root, agent="ada")
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    assert run(workspace, "git_commit").status == "committed"
    assert run(workspace, "git_commit").status == "unchanged"
    change = Change("write", Provenance("ada", "agent"))
    page = workspace.agents.resolve("ada").shelf.page("x.md")
    workspace.pages.write(page, "x\n", change=change)
    record = run(workspace, "git_commit")
    assert record.reason == "Add agents/ada/x.md by ada"
    assert record.details["added"] == 1
