"""Jobs and schedules from the command line, run by a worker inside the command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from looseleaf.features.workflows.jobs import run as job_run
from tests.cli.fixtures import Run
from tests.servers import build_handler, run_server

TEXT = 'input={"source": "text", "text": "A new album"}'
NOTE = 'memory_update={"target": "section", "file": "MEMORY.md", "section": "News"}'
LIGHT = """
import sys
from looseleaf.cli import main
sys.argv = ["looseleaf", "--root", sys.argv[1], "jobs", "list"]
main()
assert "looseleaf.features.workflows.jobs.worker" not in sys.modules
"""


def test_a_job_runs_and_says_what_it_did(run: Run) -> None:
    """Without a worker elsewhere, the command is one."""
    done = run("jobs", "run", "--step", TEXT, "--step", NOTE)
    assert done.text.splitlines()[-1].startswith("completed (")
    assert "A new album" in run("memory", "read").text
    shown = run("jobs", "show", "1").text
    assert "MEMORY.md revision" in shown
    row = run("jobs", "list").text.splitlines()[1]
    assert row.split()[0] == "1"
    assert " completed " in row
    packets = run("jobs", "packets", "1", "--step", "input").json["packets"]
    assert packets[0]["data"]["content"] == "A new album"


def test_a_failed_job_fails_the_command(run: Run) -> None:
    """And names the reason."""
    failed = run("jobs", "run", "--step", 'input={"source": "feed", "url": "http://10.0.0.1/x"}')
    assert failed.code == 1
    assert "failed: " in failed.text
    document = run("jobs", "show", "1", "--format", "json").json
    assert (document["status"], document["steps"][0]["status"]) == ("failed", "failed")
    assert run("jobs", "watch", "1").code == 1


def test_a_job_can_wait_and_be_directed(run: Run) -> None:
    """A detached job is only a row until a worker comes."""
    started = run("jobs", "run", "--step", TEXT, "--detach", "--label", "Later")
    assert started.text == "Job 1: Later. Follow it: looseleaf jobs watch 1\n"
    assert run("jobs", "pause", "1").text == "Job 1 is paused.\n"
    assert run("jobs", "resume", "1").text == "Job 1 is pending.\n"
    assert run("jobs", "retry", "1").code == 4
    assert run("jobs", "delete", "1", "--yes").code == 2
    assert run("jobs", "cancel", "1").text.startswith("Job 1 is cancelled")
    assert run("jobs", "delete", "1", "--yes").text == "Deleted 1 job.\n"
    assert run("jobs", "show", "1").code == 3
    assert run("jobs", "run").code == 2


def test_work_can_end_when_nothing_is_due(run: Run, command_root: Path) -> None:
    """With a line for each job that begins and ends; packets go with their job."""
    for label in ("One", "Two"):
        run("jobs", "run", "--step", TEXT, "--detach", "--label", label)
    lines = run("work", "--drain").text.splitlines()
    assert {line.partition(" ")[2].partition(" (")[0] for line in lines} == {
        "Job 1", "Job 1: completed", "Job 2", "Job 2: completed",
    }  # fmt: skip
    folder = command_root / "pipeline-direct" / "flow-direct" / "jobs"
    assert sorted(path.name for path in folder.iterdir()) == ["job-1", "job-2"]
    run("jobs", "delete", "1", "--yes")
    assert [path.name for path in folder.iterdir()] == ["job-2"]
    assert run("work", "--drain").text == ""


def test_a_view_runs_a_job_that_no_worker_runs(run: Run) -> None:
    """A view that waited for a worker nobody has started would never end."""
    run("jobs", "run", "--step", TEXT, "--detach")
    view = run("jobs", "watch", "1")
    assert (view.code, view.text.splitlines()[-1][:9]) == (0, "completed")
    assert run("jobs", "watch", "1").code == 0


def test_a_job_that_is_tried_again_is_waited_for(
    run: Run, command_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script sees why the job waits, and then its end, in the exit code too."""
    monkeypatch.setattr(job_run, "_FIRST_TRANSPORT_WAIT", 0.2)
    with run_server(build_handler(status="200 OK")) as gone:
        address = f"{gone.host}:{gone.port}"
    settings = f'outgoing_hosts = ["{address}"]\noutgoing_private_hosts = ["{address}"]\n'
    (command_root / "looseleaf.toml").write_text(settings)
    step = f'input={{"source": "feed", "url": "http://{address}/"}}'
    failed = run("jobs", "run", "--step", step)
    assert failed.code == 1
    waits = [line for line in failed.text.splitlines() if line.startswith("pending: ")]
    assert len(waits) == 2
    assert all(", again at " in line for line in waits)
    assert failed.text.splitlines()[-1].startswith("failed: ")


def test_a_list_of_jobs_imports_no_worker(run: Run) -> None:
    """Nor its steps, which would take longer than all else that it does."""
    root = run("status", "--format", "json").json["root"]
    subprocess.run([sys.executable, "-c", LIGHT, root], check=True, capture_output=True)


def test_schedules_are_listed_run_and_paused(run: Run) -> None:
    """With the next three times."""
    assert "task:daily_memory_generation  disabled" in run("schedules", "list").text
    run("pipelines", "create", "News", "--step", TEXT)
    run("flows", "create", "news", "Morning", "--schedule", "0 6 * * *")
    document = run("schedules", "list", "--format", "json").json["schedules"][-1]
    assert (document["schedule"], len(document["next_runs"])) == ("flow:1", 3)
    assert "flow:1" in run("schedules", "list").text
    assert run("schedules", "pause", "flow:1").text.startswith("flow:1 (Morning) is paused")
    assert run("schedules", "resume", "flow:1").text.startswith("flow:1 (Morning) is active; next")
    assert run("schedules", "run", "flow:1").text == "Job 1: News: Morning (main).\n"
    assert run("schedules", "run", "flow:2").code == 3


def test_a_worker_runs_jobs_until_it_is_stopped(run: Run) -> None:
    """`looseleaf work` finishes what waits, and stops cleanly."""
    run("jobs", "run", "--step", TEXT, "--detach")
    root = run("status", "--format", "json").json["root"]
    process = subprocess.Popen(
        [sys.executable, "-m", "looseleaf", "--root", root, "work"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("Working on")
    assert run("jobs", "watch", "1").text.splitlines()[-1].startswith("completed")
    process.terminate()
    rest, _ = process.communicate(timeout=60)
    assert "Z Job 1 (Input) begins.\n" in rest
    assert "Z Job 1: completed (" in rest
    assert ("Stopping.\n" in rest, process.returncode) == (True, 0)
