"""Schedules of flows and plugins are listed with their next times, run, paused and resumed."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.errors import Refused
from looseleaf.errors.features import ScheduleMissing
from looseleaf.features.workflows.documents import ScheduleFields
from looseleaf.features.workflows.jobs.queue import JobFilter
from looseleaf.features.workflows.operations import flows, jobs, pipelines
from looseleaf.features.workflows.parts import jobs_of
from looseleaf.operations import agents, settings
from looseleaf.times import format_time
from tests.conftest import Clock

GREETINGS = JobFilter(task_type="looseleaf/show-status")
PLUGIN = """
from looseleaf import hookimpl

@hookimpl
def register_schedules(schedules):
    schedules.register("tidy", "looseleaf/prune-history", "0 3 * * *", zone="UTC")
    schedules.register("greet", "looseleaf/show-status", "daily", per_agent=True)
    schedules.register("quiet", "looseleaf/show-status", "daily", setting="daily_memory_enabled")
"""


@pytest.fixture
def prepared_workspace(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Return a workspace with a daily flow and the schedules of a plugin."""
    (tmp_path / "schedule_plugin.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(tmp_path))
    root = tmp_path / "house"
    Workspace.create(root, agent="ada", clock=clock).close()
    with open(root / "looseleaf.toml", "a", encoding="utf-8") as file:
        file.write('plugins = ["schedule_plugin"]\ntimezone = "Europe/Berlin"\n')
    workspace = Workspace.open(root, clock=clock)
    pipelines.create_pipeline(workspace.context, "News")
    fields = ScheduleFields("cron", "0 6 * * *")
    flows.create_flow(workspace.context, "news", "Morning", schedule=fields)
    flows.create_flow(workspace.context, "news", "By hand")
    return workspace


def test_schedules_show_their_next_three_times(prepared_workspace: Workspace) -> None:
    """In UTC for programs, and in the zone of the site for people."""
    listed = {entry.schedule: entry for entry in jobs.list_schedules(prepared_workspace.context)}
    ours = ("backup", "daily_memory_generation", "git_commit", "history_packing", "retention")
    tasks = [f"task:{name}" for name in sorted((*ours, "greet", "quiet", "tidy"))]
    assert list(listed) == [*tasks, "flow:2", "flow:1"]
    morning = listed["flow:1"]
    assert (morning.status, morning.when, morning.agent) == ("active", "cron 0 6 * * *", "ada")
    assert len(morning.next_runs) == 3
    assert all(time.endswith(("T04:00:00Z", "T05:00:00Z")) for time in morning.next_runs)
    assert all(" 06:00 CE" in time for time in morning.next_local)
    assert (listed["task:quiet"].status, listed["flow:2"].status) == ("disabled", "manual")


def test_a_setting_switches_a_schedule_on(prepared_workspace: Workspace) -> None:
    """At the next look, without a restart."""
    settings.set_setting(prepared_workspace.context, "daily_memory_enabled", setting=True)
    listed = {entry.schedule: entry for entry in jobs.list_schedules(prepared_workspace.context)}
    assert listed["task:quiet"].status == "active"


def test_a_paused_schedule_fires_when_it_goes_on(
    prepared_workspace: Workspace, clock: Clock
) -> None:
    """Once, whatever it missed."""
    jobs.list_schedules(prepared_workspace.context)
    assert jobs.pause_schedule(prepared_workspace.context, "flow:1").status == "paused"
    firing = jobs_of(prepared_workspace).schedule_firing
    clock.advance(days=3)
    firing.fire_due()
    assert jobs.resume_schedule(prepared_workspace.context, "flow:1").status == "active"
    assert firing.fire_due() == 1
    [entry] = [e for e in jobs.list_schedules(prepared_workspace.context) if e.schedule == "flow:1"]
    assert (entry.last_run, entry.last_job > 0) == (format_time(clock.now), True)
    with pytest.raises(Refused, match="manual"):
        jobs.pause_schedule(prepared_workspace.context, "flow:2")
    with pytest.raises(ScheduleMissing):
        jobs.pause_schedule(prepared_workspace.context, "flow:9")


def test_a_task_for_agents_starts_a_job_for_each(
    prepared_workspace: Workspace, clock: Clock
) -> None:
    """Staggered if the clock starts them, at once if a person does."""
    for slug in ("bob", "cara"):
        agents.create_agent(prepared_workspace.context, slug)
    agents.set_agent_status(prepared_workspace.context, "cara", "inactive")
    now = jobs.run_schedule(prepared_workspace.context, "task:greet")
    assert [(job.agent, job.next_attempt_at) for job in now] == [("ada", ""), ("bob", "")]
    firing = jobs_of(prepared_workspace).schedule_firing
    clock.advance(days=2)
    firing.fire_due()
    started = [job for job in jobs_of(prepared_workspace).jobs.list(GREETINGS)[0] if job.not_before]
    assert {job.agent_id for job in started} == {1, 2}
    assert len({job.not_before for job in started}) == 2


def test_a_manual_run_of_a_flow_leaves_its_times(prepared_workspace: Workspace) -> None:
    """Even if the flow has no times."""
    before = {e.schedule: e.next_runs for e in jobs.list_schedules(prepared_workspace.context)}
    [job] = jobs.run_schedule(prepared_workspace.context, "flow:2")
    assert (job.label, job.flow_id) == ("News: By hand", 2)
    after = {e.schedule: e.next_runs for e in jobs.list_schedules(prepared_workspace.context)}
    assert after == before


def test_a_run_by_hand_is_the_last_run(prepared_workspace: Workspace, clock: Clock) -> None:
    """Of a flow by its schedule or by its own button, also if it has no times; and of a task.

    Also of a task that is switched off, before and after it is switched on.
    """
    context = prepared_workspace.context
    jobs.run_schedule(context, "task:tidy")
    quiet = jobs.run_schedule(context, "task:quiet")[-1]
    by_schedule = jobs.run_schedule(context, "flow:1")[0]
    by_hand = jobs.execute(context, flow=2)
    listed = {entry.schedule: entry for entry in jobs.list_schedules(context)}
    now = format_time(clock())
    names = ("task:tidy", "task:quiet", "flow:1", "flow:2")
    assert {listed[name].last_run for name in names} == {now}
    assert (listed["task:quiet"].status, listed["task:quiet"].last_job) == (
        "disabled",
        quiet.job_id,
    )
    assert listed["flow:1"].last_job == by_schedule.job_id
    assert listed["flow:2"].last_job == by_hand.job_id
    assert listed["task:greet"].last_run == ""
    settings.set_setting(context, "daily_memory_enabled", setting=True)
    listed = {entry.schedule: entry for entry in jobs.list_schedules(context)}
    assert (listed["task:quiet"].status, listed["task:quiet"].last_run) == ("active", now)
