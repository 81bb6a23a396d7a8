"""The steps of a job whose process is killed at any moment: each page changes once, none is missed.

As a program, it runs a worker until it is killed: `python -m … ROOT`.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from looseleaf import Workspace
from looseleaf.features.workflows.definitions import Step
from looseleaf.features.workflows.jobs.run import plan_direct_job
from looseleaf.features.workflows.parts import jobs_of
from tests.conftest import FULL

JOBS, KILLS = (30, 60) if FULL else (3, 3)
SETTINGS = 'default_model = "echo"\ndaily_memory_enabled = true\n'
HOUSE = Path(__file__).parents[4]


def steps(number: int) -> tuple[Step, ...]:
    """Write to the journal by a tool of the model, and to a section by a step."""
    call = f'/call agent_daily_memory {{"action": "write", "content": "- tool of {number}."}}'
    return (
        Step("source", "input", "", {"source": "text", "text": f"number {number}"}),
        Step("draft", "ai", "", {"prompt": call}),
        Step(
            "learn",
            "memory_update",
            "",
            {"target": "section", "section": "State", "template": f"- step of {number}."},
        ),
        Step("note", "memory_update", "", {"target": "daily", "template": f"- day of {number}."}),
    )


def start_worker(root: Path) -> subprocess.Popen[str]:
    """Start a process that runs jobs, and wait until it does."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.features.workflows.steps.test_crash", str(root)],
        cwd=HOUSE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_every_page_changes_once(tmp_path: Path, seed: int) -> None:
    """Whenever the worker dies, the next one goes on where it was."""
    chance = random.Random(seed)
    root = tmp_path / "workspace"
    Workspace.create(root, agent="ada").close()
    (root / "looseleaf.toml").write_text(SETTINGS)
    workspace = Workspace.open(root)
    agent = workspace.agents.resolve("ada")
    jobs = jobs_of(workspace).jobs
    for number in range(JOBS):
        jobs.add(plan_direct_job(f"Job {number}", steps(number), agent_id=agent.id, user_id=1))
    for _ in range(KILLS):
        process = start_worker(root)
        time.sleep(chance.uniform(0.0, 0.6))  # when it dies is the point of the test
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    process = start_worker(root)
    deadline = time.monotonic() + 240
    states = [jobs.find(number + 1) for number in range(JOBS)]
    while not all(job.is_final for job in states):
        assert time.monotonic() < deadline, [job.status_text for job in states]
        time.sleep(0.1)
        states = [jobs.find(number + 1) for number in range(JOBS)]
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert [job.status_text for job in states] == ["completed"] * JOBS
    days = "".join(
        workspace.pages.text(agent.shelf.page(entry.filename))
        for entry in workspace.pages.list(agent.shelf, "daily")
    )
    memory = workspace.pages.text(agent.shelf.page("MEMORY.md"))
    for number in range(JOBS):
        assert days.count(f"- tool of {number}.\n") == 1
        assert days.count(f"- day of {number}.\n") == 1
        assert memory.count(f"- step of {number}.\n") == 1
    workspace.close()


if __name__ == "__main__":
    opened = Workspace.open(sys.argv[1])
    jobs_of(opened).start_worker()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    signal.pause()
