"""Two servers share one PostgreSQL: when one is killed, the other finishes its jobs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.features.workflows.definitions import Step
from looseleaf.features.workflows.jobs.job import Job
from looseleaf.features.workflows.jobs.run import plan_direct_job
from looseleaf.features.workflows.jobs.worker import WorkerOptions
from looseleaf.features.workflows.parts import jobs_of

PLUGIN = """
import time
from pathlib import Path
from looseleaf.plugins.hooks import hookimpl
from looseleaf.features.workflows.step import StepOutcome, StepType

def linger(run):
    while not Path(run.settings["until"]).exists() and not run.is_cancelled():
        time.sleep(0.01)
    return StepOutcome(packets=run.packets[:1])

@hookimpl
def register_steps(steps):
    schema = {"type": "object", "properties": {"until": {"type": "string"}}}
    text = "Waits for a file."
    steps.register(
        StepType(name="linger", label="Linger", description=text, run=linger, settings=schema)
    )
"""
MOST_SECONDS = 30.0  # until the jobs of a dead server are run by another one


@contextmanager
def server(root: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run `looseleaf serve` in a process of its own."""
    command = [sys.executable, "-m", "looseleaf", "--root", str(root), "serve", "--port", "0"]
    environment = {**os.environ, "PYTHONPATH": str(root.parent)}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for a condition, for as long as a busy machine may take."""
    deadline = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def workspace(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Workspace]:
    """Open a workspace on PostgreSQL, with a step that waits for a file."""
    (tmp_path / "lingering.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(tmp_path))
    root = tmp_path / "root"
    Workspace.create(root, agent="ada").close()
    settings = f'database_url = "{database_url}"\nplugins = ["lingering"]\n'
    (root / "looseleaf.toml").write_text(settings)
    with Workspace.open(root) as opened:
        yield opened


def add_job(workspace: Workspace, until: Path) -> int:
    """Add a job that waits for a file in its second step."""
    steps = (
        Step("source", "input", "", {"source": "text", "text": "- Heard once."}),
        Step("wait", "linger", "", {"until": str(until)}),
        Step("learn", "memory_update", "", {"target": "section", "section": "State"}),
    )
    agent = workspace.agents.resolve("ada")
    return jobs_of(workspace).jobs.add(plan_direct_job("Wait", steps, agent_id=agent.id))[0].id


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
@pytest.mark.parametrize(
    "place", ["this machine", pytest.param("another machine", marks=pytest.mark.slow)]
)
def test_a_server_finishes_the_jobs_of_a_dead_one(
    workspace: Workspace, tmp_path: Path, place: str
) -> None:
    """Noticed by its lock file on the same machine, else by its silence."""
    root, until = Path(workspace.root), tmp_path / "go"
    store = jobs_of(workspace).store
    job_id = add_job(workspace, until)

    def find_job() -> Job:
        return store.jobs.find(job_id)

    with server(root) as first:
        wait_until(lambda: find_job().steps[1].attempts == 1)
        [worker_id] = store.workers.beats()
        with server(root):
            wait_until(lambda: len(store.workers.beats()) == 2)
            if place == "another machine":  # its lock file does not lie here
                (root / ".looseleaf" / "workers" / worker_id).unlink()
            first.send_signal(signal.SIGKILL)
            first.wait()
            start = time.monotonic()
            wait_until(lambda: find_job().steps[1].attempts == 2)
            seconds = time.monotonic() - start
            until.touch()
            wait_until(lambda: find_job().is_final)
    assert find_job().status_text == "completed"
    assert [step.attempts for step in find_job().steps] == [1, 2, 1]
    page = workspace.agents.resolve("ada").shelf.page("MEMORY.md")
    assert workspace.pages.text(page).count("- Heard once.") == 1
    print(f"taken over after {seconds:.1f} s")  # noqa: T201 - a figure that -rP shows


def test_a_dead_server_is_noticed_in_time() -> None:
    """By what is set, however busy the machine is: silence, the look at it, and the next start."""
    options = WorkerOptions()
    looks = options.silent_seconds + 2 * options.beat_seconds + options.poll_seconds
    assert looks < MOST_SECONDS
