"""Workers are killed at every point of a step: every job ends, and every change is made once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.features.workflows.jobs.house import WorkerHarness


@contextmanager
def worker_process(harness: WorkerHarness, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Run a worker in a process of its own; with `inside`, it starts no other process."""
    command = [sys.executable, "-m", "tests.features.workflows.jobs.house"]
    process = subprocess.Popen(
        [*command, str(harness.root), harness.database_url, *options],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[4],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["src", "."])},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "working\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def kill_and_finish(
    harness: WorkerHarness, deaths: list[tuple[int, str]], folder: Path
) -> list[int]:
    """Run a job for each death, by processes that die there, and then by one that lives."""
    jobs = []
    for number, (step, point) in enumerate(deaths):
        steps: list[tuple[str, dict[str, str]]] = [("say", {"text": f"text {number}"})]
        steps += [("note", {}), ("note", {})]
        mark = str(folder / f"died-{number}")
        steps[step][1].update(die=point, mark=mark)
        # Each of a flow of its own: later jobs of one flow would spare their worker.
        jobs.append(harness.add(*steps, flow_id=number + 1).id)
        with worker_process(harness, "inside") as process:
            process.wait()  # it has killed itself
        assert Path(mark).exists()
    with worker_process(harness, "inside"):
        for job_id in jobs:
            assert harness.wait_for_end(job_id).status == "completed"
    return jobs


def expected_notes(jobs: list[int]) -> list[str]:
    """Return the lines that the jobs must have written, each once."""
    return sorted(
        f"{job_id}: text {number} ({step})" for number, job_id in enumerate(jobs) for step in (1, 2)
    )


def test_a_worker_that_dies_in_a_step_repeats_no_change(
    any_harness: WorkerHarness, tmp_path: Path
) -> None:
    """At the begin and end of a step without an effect, and around the change of a page."""
    harness = any_harness
    deaths = [(0, "end"), (1, "begin"), (1, "middle"), (1, "end"), (2, "end")]
    jobs = kill_and_finish(harness, deaths, tmp_path)
    assert sorted(harness.notes) == expected_notes(jobs)
    revisions = harness.workspace.history.revisions(
        harness.workspace.agents.resolve("ada").shelf.page("notes.md")
    )
    assert len(revisions) == 2 * len(jobs)


def test_a_survivor_finishes_the_jobs_of_a_dead_worker(any_harness: WorkerHarness) -> None:
    """Within thirty seconds, whichever database they share."""
    harness = any_harness
    job = harness.add(("say", {"text": "x"}), ("linger", {}), ("note", {}))
    with worker_process(harness) as first:
        harness.wait(job.id, lambda job: bool(job.steps[1].progress))
        with worker_process(harness):
            first.kill()
            first.wait()
            harness.wait(job.id, lambda job: job.steps[1].attempts == 2, seconds=30.0)
            harness.store.jobs.request(job.id, "cancel")
            assert harness.wait_for_end(job.id).status == "cancelled"
    assert harness.store.jobs.find(job.id).steps[0].attempts == 1
