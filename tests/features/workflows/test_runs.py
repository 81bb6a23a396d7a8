"""Runs leave records, however they end."""

from __future__ import annotations

import pytest

from looseleaf import Workspace
from looseleaf.errors import Unavailable
from looseleaf.errors.features import InvalidTaskParameters, TaskNotRunnable, TaskRunMissing
from looseleaf.features.workflows import system_tasks
from looseleaf.features.workflows.system_tasks import (
    RunLog,
    RunRecord,
    RunRequest,
    SystemTask,
    TaskResult,
    TaskRun,
    check_run,
    create_run_id,
    run_task,
)
from looseleaf.values import FrozenDict, replace
from tests.conftest import Clock


def tidy(run: TaskRun) -> TaskResult:
    """Fail if it is asked to."""
    if run.params.get("fail"):
        raise Unavailable("the shelf", "it is locked")
    return TaskResult("tidied", details={"pages": 1})


TASK = SystemTask(
    type="tidy",
    label="Tidy",
    description="Tidies.",
    run=tidy,
    supports_run=True,
    params=FrozenDict({"fail": "", "date": ""}),
)


def run(workspace: Workspace, **params: object) -> RunRecord:
    """Run the task for ada."""
    return run_task(
        TASK,
        workspace,
        workspace.settings,
        workspace.agents.resolve("ada"),
        RunRequest(params),
        prompt=lambda _key: "",
        is_cancelled=lambda: False,
    )


def test_a_run_is_recorded(workspace: Workspace, clock: Clock) -> None:
    """The newest comes first, and a failure is a record, too."""
    first = run(workspace)
    clock.advance(seconds=1)
    second = run(workspace, fail=True)
    assert (second.status, second.is_failure) == ("failed", True)
    assert "it is locked" in second.reason
    log = RunLog(workspace.settings.root)
    assert [item.id for item in log.list(first.agent_id)] == [second.id, first.id]
    assert log.find(first.agent_id, first.id) == first
    assert log.list(first.agent_id, task_type="other") == []
    with pytest.raises(TaskRunMissing):
        log.find(first.agent_id, "../../looseleaf")


def test_only_so_many_records_stay(
    workspace: Workspace, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest go."""
    monkeypatch.setattr(system_tasks, "MOST_RUNS", 3)
    for _ in range(5):
        clock.advance(seconds=1)
        last = run(workspace)
    kept = RunLog(workspace.settings.root).list(last.agent_id, limit=10)
    assert len(kept) == 3
    assert kept[0] == last


def test_what_a_task_does_not_take_is_refused() -> None:
    """Before anything runs."""
    with pytest.raises(InvalidTaskParameters, match="does not take speed; it takes date, fail"):
        check_run(TASK, {"speed": 1})
    with pytest.raises(InvalidTaskParameters, match="not a day"):
        check_run(TASK, {"date": "yesterday"})
    with pytest.raises(TaskNotRunnable):
        check_run(replace(TASK, supports_run=False), {})
    check_run(replace(TASK, supports_run=False), {}, trigger="schedule")


def test_ids_sort_by_time() -> None:
    """And no two are the same."""
    assert create_run_id(1_000_000.5) < create_run_id(1_000_001.0)
    assert create_run_id(1.0) != create_run_id(1.0)
