"""Retention as operations: shown, counted and run, for one kind of data or for all."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.errors import Unavailable
from looseleaf.errors.features import TaskMissing
from looseleaf.features.upkeep import operations
from looseleaf.features.upkeep.retention import RULES
from looseleaf.features.workflows.operations.jobs import delete_job
from looseleaf.memory.provenance import JOB, Activity
from looseleaf.values import replace
from tests.conftest import Clock
from tests.features.upkeep.test_removal import begin_session, end_job, job_folders


def test_a_preview_counts_and_removes_nothing(workspace: Workspace, clock: Clock) -> None:
    """A run then removes exactly what was counted, and the reports are shown."""
    begin_session(workspace, "old")
    end_job(workspace, "old")
    clock.advance(days=91)
    preview = {item.task_type: item for item in operations.preview_retention(workspace.context)}
    assert len(preview) == len(RULES)
    assert preview["retention_chat_sessions"].counts == {"sessions": 1, "empty_sessions": 0}
    assert preview["retention_jobs"].status == "counted"
    assert all(not rule.runs for rule in operations.show_retention(workspace.context))
    reports = {item.task_type: item for item in operations.run_retention(workspace.context)}
    assert reports["retention_jobs"].counts == {"jobs": 1}
    assert reports["retention_chat_sessions"].report == "1 conversation"
    shown = {item.task_type: item for item in operations.show_retention(workspace.context)}
    [run] = shown["retention_chat_sessions"].runs
    assert (run.status, run.trigger, run.report) == ("removed", "manual", "1 conversation")
    assert shown["retention_chat_sessions"].settings["chat_retention_days"] == 90
    again = operations.preview_retention(workspace.context)
    assert [item.task_type for item in again if any(item.counts.values())] == []


def test_one_kind_is_named_with_or_without_its_prefix(workspace: Workspace, clock: Clock) -> None:
    """The others are left alone; a kind that is off runs when it is named."""
    begin_session(workspace, "old")
    end_job(workspace, "old")
    clock.advance(days=91)
    settings = replace(workspace.settings, system_tasks_off=("retention_jobs",))
    context = replace(workspace.context, settings=settings)
    for kind in ("chat_sessions", "retention_chat_sessions"):
        [report] = operations.preview_retention(context, kind=kind)
        assert report.task_type == "retention_chat_sessions"
    assert "retention_jobs" not in {item.task_type for item in operations.run_retention(context)}
    [report] = operations.run_retention(context, kind="jobs")
    assert (report.counts, report.enabled) == ({"jobs": 1}, False)
    with pytest.raises(TaskMissing, match="chat_sessions"):
        operations.run_retention(context, kind="pages")


def test_a_failure_of_one_kind_does_not_stop_the_others(workspace: Workspace, clock: Clock) -> None:
    """Its report says why."""
    begin_session(workspace, "old")
    clock.advance(days=91)
    (Path(workspace.root) / ".looseleaf" / "audit-end").write_bytes(b"\xff")
    reports = {item.task_type: item for item in operations.run_retention(workspace.context)}
    assert reports["retention_audit"].is_failure
    assert "damaged" in reports["retention_audit"].report
    assert reports["retention_chat_sessions"].counts["sessions"] == 1
    clock.advance(seconds=1)
    job = replace(workspace.context, activity=Activity(JOB, "job-1/step-1"))
    with pytest.raises(Unavailable, match="Audit: "):
        operations.run_retention(job)
    shown = operations.show_retention(workspace.context)
    assert {rule.runs[0].trigger for rule in shown} == {"schedule"}


def test_deleting_a_job_removes_its_folder(workspace: Workspace) -> None:
    """Its packets and its artifacts, and those of no other job."""
    job, other = end_job(workspace, "one"), end_job(workspace, "other")
    assert delete_job(workspace.context, job.id).deleted == 1
    assert not any(folder.exists() for folder in job_folders(workspace, job))
    assert all(folder.exists() for folder in job_folders(workspace, other))
