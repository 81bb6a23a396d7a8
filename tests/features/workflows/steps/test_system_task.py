"""The step `system_task`: a task runs for the job's agent, and its result is given on."""

from __future__ import annotations

import pytest

from looseleaf.errors import LooseleafError
from looseleaf.errors.features import InvalidStep
from looseleaf.features.workflows.jobs.services import JobStepServices
from looseleaf.values import replace
from tests.features.workflows.steps.conftest import Bench, Opener

DAILY = "daily_memory_generation"


def test_a_task_runs_for_the_agent_of_the_job(bench: Bench) -> None:
    """Its runs are the result, each with its status."""
    (packet,) = bench.run("system_task", {"task_type": DAILY}).packets
    assert packet.data["task_type"] == DAILY
    (run,) = packet.data["result"]["runs"]
    assert run["agent"] == "ada"
    assert run["is_failure"] is False
    assert bench.progress == [f"runs {DAILY}"]


def test_settings_name_the_task(bench: Bench) -> None:
    """A step without a task is refused when a pipeline is saved."""
    with pytest.raises(InvalidStep, match="task_type is missing"):
        bench.run("system_task", {})


def test_an_unknown_task_or_parameter_fails_the_step(bench: Bench) -> None:
    """With an error that says so."""
    for settings in ({"task_type": "no_such_task"}, {"task_type": DAILY, "params": {"x": 1}}):
        with pytest.raises(LooseleafError):
            bench.run("system_task", settings)


def test_a_task_that_is_switched_off_is_no_failure(open_bench: Opener) -> None:
    """Its run says that it was skipped, and why."""
    (packet,) = open_bench("").run("system_task", {"task_type": DAILY}).packets
    (run,) = packet.data["result"]["runs"]
    assert run["reason"]


def test_a_pipeline_runs_no_operation(bench: Bench) -> None:
    """Whoever writes a pipeline gains no right by it; only Looseleaf's own jobs run operations."""
    settings = {"task_type": "looseleaf/create-token", "params": {"agent": "ada"}}
    with pytest.raises(LooseleafError):
        bench.run("system_task", settings)
    run = bench.step_run("system_task", {"task_type": "looseleaf/show-status"})
    own_job = replace(run.job, source="system")
    parts = JobStepServices(bench.workspace.context, own_job, bench.intents)
    assert "result" in parts.run_task(run, "looseleaf/show-status", {})
