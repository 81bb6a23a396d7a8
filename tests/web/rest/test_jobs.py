"""Jobs and schedules over REST, with the events of a job, and a server that runs them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

from looseleaf import Workspace
from looseleaf.operations.jobs import execute
from looseleaf.workflows.documents import StepFields
from tests.web.conftest import API, Site

STEPS = [{"type": "input", "settings": {"source": "text", "text": "Hello"}}]


def admin(site: Site) -> str:
    """Give a token that may do everything."""
    token: str = site.run("looseleaf/create-token", user=1)["token"]
    return token


def test_a_job_is_started_shown_and_directed(site: Site) -> None:
    """At the routes of the plugin."""
    token = admin(site)
    started = site.ask("POST", f"{API}/execute", token, json={"steps": STEPS, "label": "Try"})
    assert started.status_code == 201, started.text
    job = started.json()["data"]
    assert (job["job_id"], job["status"], job["label"]) == (1, "pending", "Try")
    assert site.ask("GET", f"{API}/jobs/1", token).json()["data"] == job
    listed = site.ask("GET", f"{API}/jobs", token).json()["data"]
    assert [entry["job_id"] for entry in listed["jobs"]] == [1]
    assert site.ask("POST", f"{API}/jobs/1/pause", token).json()["data"]["status"] == "paused"
    assert site.ask("POST", f"{API}/jobs/1/cancel", token).json()["data"]["status"] == "cancelled"
    again = site.ask("POST", f"{API}/jobs/1/cancel", token)
    assert again.json()["code"] == "refused"
    assert site.ask("DELETE", f"{API}/jobs/1", token).json()["data"] == {"deleted": 1}
    gone = site.ask("GET", f"{API}/jobs/1", token)
    assert (gone.status_code, gone.json()["code"]) == (404, "job_not_found")


def test_the_events_of_a_job_end_with_it(site: Site) -> None:
    """The job as it is, and again whenever it changes."""
    token = admin(site)
    site.ask("POST", f"{API}/execute", token, json={"steps": STEPS})
    site.ask("POST", f"{API}/jobs/1/cancel", token)
    headers = {"accept": "text/event-stream"}
    stream = site.ask("GET", f"{API}/jobs/1", token, headers=headers)
    assert stream.headers["content-type"].startswith("text/event-stream")
    events = [block.split("\n") for block in stream.text.strip().split("\n\n")]
    assert [lines[0] for lines in events] == ["event: job", "event: end"]
    assert json.loads(events[0][1].removeprefix("data: "))["status"] == "cancelled"
    gone = site.ask("GET", f"{API}/jobs/9", token, headers=headers)
    assert gone.status_code == 404


def test_schedules_are_run_and_paused(site: Site) -> None:
    """By their ids."""
    token = admin(site)
    site.ask("POST", f"{API}/pipelines", token, json={"name": "News", "steps": STEPS})
    body = {"pipeline": 1, "name": "Morning", "schedule": {"interval": "daily"}}
    site.ask("POST", f"{API}/flows", token, json=body)
    schedule = site.ask("GET", f"{API}/schedules", token).json()["data"][-1]
    assert (schedule["schedule"], len(schedule["next_runs"])) == ("flow:1", 3)
    path = f"{API}/schedules/flow:1"
    assert site.ask("POST", f"{path}/pause", token).json()["data"]["status"] == "paused"
    assert site.ask("POST", f"{path}/resume", token).json()["data"]["status"] == "active"
    assert site.ask("POST", f"{path}/run", token).json()["data"][0]["job_id"] == 1


def test_a_server_runs_jobs_behind_its_first_answer(tmp_path: Path) -> None:
    """A job that was added before is done by the worker inside."""
    with Workspace.create(tmp_path / "root", agent="ada") as workspace:
        step = StepFields("input", settings={"source": "text", "text": "Hello"})
        execute(workspace.context, steps=(step,))
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "looseleaf",
            "--root",
            str(tmp_path / "root"),
            "serve",
            "--port",
            "0",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = next(text for text in process.stdout if "  at http" in text)
        base = line.split()[1]
        with urlopen(f"{base}/health") as answer:
            assert answer.status == 200
        with Workspace.open(tmp_path / "root") as workspace:
            deadline = time.monotonic() + 60
            while not workspace.workflow_jobs().jobs.find(1).is_final:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            assert workspace.workflow_jobs().jobs.find(1).status == "completed"
    finally:
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 0
