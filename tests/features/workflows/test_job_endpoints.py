"""Jobs and schedules over REST, with the events of a job, and a server that runs them."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import httpx2

from looseleaf import Workspace
from looseleaf.features.workflows.definitions import Step
from looseleaf.features.workflows.operations.jobs import execute
from looseleaf.features.workflows.parts import jobs_of
from looseleaf.web.http.workers import MOST_OF_ONE
from tests.web.fixtures import API, Opens, Site

STREAM = {"accept": "text/event-stream"}
STEPS = [{"type": "input", "settings": {"source": "text", "text": "Hello"}}]


def admin(site: Site) -> str:
    """Return a token that may do everything."""
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


def test_a_list_of_jobs_sends_its_changes(opens: Opens) -> None:
    """Of the jobs that were asked for, until the credential ends; each stream counts."""
    site = opens()
    token = admin(site)
    site.ask("POST", f"{API}/execute", token, json={"steps": STEPS, "label": "One"})
    headers = {"accept": "text/event-stream", "authorization": f"Bearer {token}"}
    address = f"{site.base}{API}/jobs?status=pending&limit=5"
    with httpx2.stream("GET", address, headers=headers, trust_env=False, timeout=60) as answer:
        blocks = read_events(answer)
        event, document = next(blocks)
        assert (event, document["total"], document["limit"]) == ("jobs", 1, 5)
        site.run("datamachine/execute-workflow", steps=STEPS, label="Two")
        labels = [job["label"] for job in next(blocks)[1]["jobs"]]
        assert labels == ["Two", "One"]
        site.run("looseleaf/cancel-job", job=1)
        assert [job["job_id"] for job in next(blocks)[1]["jobs"]] == [2]
        site.run("looseleaf/revoke-token", id=token.split("_")[1])
        event, document = next(blocks)
        assert (event, document["code"]) == ("error", "unauthenticated")
        assert next(blocks, None) is None
    wrong = site.ask("GET", f"{API}/jobs?status=x", admin(site), headers=STREAM)
    assert wrong.status_code == 400
    assert site.client.get(f"{API}/jobs", headers=STREAM).status_code == 401


def test_streams_of_jobs_are_bounded(opens: Opens) -> None:
    """The next one of a user is refused, by whichever token; others have room."""
    site = opens()
    token = admin(site)
    site.user("boss", capabilities=["manage_options"])
    of_other = site.token(user="boss")
    headers = {**STREAM, "authorization": f"Bearer {token}"}
    with contextlib.ExitStack() as stack:
        streams = [
            stack.enter_context(
                httpx2.stream(
                    "GET", f"{site.base}{API}/jobs", headers=headers, trust_env=False, timeout=60
                )
            )
            for _ in range(MOST_OF_ONE)
        ]
        assert {stream.status_code for stream in streams} == {200}
        for own in (token, admin(site)):
            refused = site.ask("GET", f"{API}/jobs", own, headers=STREAM)
            assert (refused.status_code, refused.json()["code"]) == (429, "too_many_streams")
        assert site.ask("GET", f"{API}/jobs", token).status_code == 200
        other = httpx2.stream(
            "GET",
            f"{site.base}{API}/jobs",
            headers={**STREAM, "authorization": f"Bearer {of_other}"},
            trust_env=False,
        )
        assert stack.enter_context(other).status_code == 200


def read_events(answer: httpx2.Response) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read the events of a stream, without the signs of life."""
    event = ""
    for line in answer.iter_lines():
        if line.startswith("event: "):
            event = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield event, json.loads(line.removeprefix("data: "))


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
        step = Step(type="input", settings={"source": "text", "text": "Hello"})
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
            while not jobs_of(workspace).jobs.find(1).is_final:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            assert jobs_of(workspace).jobs.find(1).status == "completed"
    finally:
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 0
