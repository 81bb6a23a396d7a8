"""System tasks where a worker runs: each run is a job, and whoever asks does not wait for it."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest

from looseleaf import Workspace
from looseleaf.features.workflows.parts import jobs_of
from tests.cli.fixtures import Run
from tests.features.chat.conftest import Script
from tests.web.admin.pages import wait_until
from tests.web.fixtures import Opens

TASK = "daily_memory_generation"
LONG = "# Memory\n\n" + "".join(f"## Topic {n}\n\n" + f"- fact {n}\n" * 90 for n in range(12))


def test_a_run_over_rest_is_answered_before_the_model(opens: Opens) -> None:
    """With the job and the id of the run, at every address, while the model is still asked."""
    site = opens(daily_memory_enabled=True, default_model="script:m")
    is_asked, may_answer = Event(), Event()
    model = Script((is_asked.set, lambda: may_answer.wait(60), "Nothing to move."))
    site.workspace.models().register("script", lambda _name: model)
    site.run("datamachine/write-agent-file", file="MEMORY.md", content=LONG, agent="ada")
    browser, csrf = site.sign_in()
    head = {"x-csrf-token": csrf}
    runtime = jobs_of(site.workspace)
    runtime.start_worker()
    try:
        address = f"/datamachine/v1/system/tasks/{TASK}/run"
        answer = browser.post(address, json={"agent": "ada"}, headers=head).json()["data"]
        [first] = answer
        assert (first["status"], first["end"], first["job_id"]) == ("started", "", 1)
        assert is_asked.wait(60)
        flat = browser.post(
            "/wp-abilities/v1/abilities/datamachine/run-task/run",
            json={"task_type": TASK},
            headers=head,
        ).json()
        assert (flat["success"], flat["task_type"], flat["job_id"]) == (True, TASK, 2)
        page = browser.post("/admin/agents/ada/upkeep", data={"csrf": csrf, "action": "run"})
        assert page.headers["location"] == "/admin/jobs/3"
        overview = browser.post("/admin/upkeep", data={"csrf": csrf, "action": "run"})
        assert overview.headers["location"] == "/admin/jobs"
        assert site.run("looseleaf/list-task-runs") == []
        may_answer.set()
        wait_until(lambda: all(runtime.jobs.find(number).is_final for number in (1, 2, 3, 4)))
        runs = {run["id"]: run for run in site.run("looseleaf/list-task-runs")}
        assert {first["id"], flat["runs"][0]["id"]} < set(runs)
        assert runs[first["id"]]["trigger"] == "manual"
    finally:
        may_answer.set()
        runtime.close()


def test_the_command_waits_for_the_job(run: Run, command_root: Path) -> None:
    """And shows the run as it ended, as it does without a worker."""
    here = run("upkeep", "run", "--format", "json").json["runs"][0]
    workspace = Workspace.open(command_root)
    jobs_of(workspace).start_worker()
    try:
        answer = run("upkeep", "run", "--format", "json")
        [record] = answer.json["runs"]
        assert (answer.code, here["job_id"], record["job_id"]) == (0, 0, 1)
        assert (record["status"], record["reason"]) == (here["status"], here["reason"])
    finally:
        workspace.close()


@pytest.mark.slow
def test_the_command_tells_how_a_job_failed(run: Run, command_root: Path) -> None:
    """After the attempts of the job, which wait for minutes in between."""
    workspace = Workspace.open(command_root)
    try:
        (command_root / "agents/main/MEMORY.md").write_bytes(b"\xff")
        (command_root / "looseleaf.toml").write_text("daily_memory_enabled = true\n")
        again = Workspace.open(command_root)
        jobs_of(again).start_worker()
        try:
            failed = run("system", "run", TASK)
        finally:
            again.close()
        assert (failed.code, "UTF-8" in failed.text) == (1, True)
    finally:
        workspace.close()
