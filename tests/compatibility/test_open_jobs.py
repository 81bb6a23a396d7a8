"""Jobs that were open when a version that ran them on DBOS was stopped or killed are finished.

The archive has a workspace of commit 8ead3b3 on SQLite, and one on PostgreSQL with a dump of its
database. A worker was killed in the jobs 2 and 3: after the step `learn` of job 2 had changed its
page and before its outcome was recorded, and at the begin of the step `learn` of job 3.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.features.workflows.jobs.queue import JobFilter
from looseleaf.features.workflows.parts import jobs_of
from tests.conftest import Clock

ARCHIVE = Path(__file__).parent / "open_jobs.tar.gz"
STOPPED_AT = 1776418200.0  # 2026-04-17T09:30:00Z
ATTEMPTS = {2: [1, 2, 1], 3: [1, 2, 1]}  # of each step


@pytest.fixture
def home(tmp_path: Path, database_url: str) -> Path:
    """Unpack the workspace of each database in turn."""
    with tarfile.open(ARCHIVE) as packed:
        packed.extractall(tmp_path, filter="data")
    if not database_url:
        return tmp_path / "sqlite"
    root = tmp_path / "postgres"
    (root / "looseleaf.toml").write_text(f'database_url = "{database_url}"\n')
    with psycopg.connect(database_url) as connection:
        connection.execute((root / "postgres.sql").read_bytes())
    return root


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    """Open the workspace with the present code, at the time when it was left."""
    with Workspace.open(home, clock=Clock(STOPPED_AT)) as workspace:
        yield workspace


def drain(workspace: Workspace) -> dict[int, str]:
    """Run a worker until nothing is due; return the status of every job."""
    runtime = jobs_of(workspace)
    runtime.start_worker().wait_until_drained()
    runtime.close()
    return {job.id: job.status for job in runtime.jobs.list(JobFilter())[0]}


def test_the_archive_names_no_place_of_its_machine(home: Path) -> None:
    """It is small, too."""
    assert ARCHIVE.stat().st_size < 50_000
    for file in home.rglob("*"):
        content = file.read_bytes() if file.is_file() and file.name != "looseleaf.toml" else b""
        for sign in (b"/home/", b"/root/", b"/tmp/", b"/work"):
            assert sign not in content, file


def test_open_jobs_are_finished_and_no_change_is_repeated(workspace: Workspace) -> None:
    """Those of the dead worker, one that had not begun, one that waits and one that is paused."""
    jobs = jobs_of(workspace).jobs
    found = {job.id: job.status for job in jobs.list(JobFilter())[0]}
    assert found == {1: "waiting", 2: "processing", 3: "processing", 4: "pending", 5: "paused"}
    statuses = drain(workspace)
    assert statuses == {1: "waiting", **dict.fromkeys((2, 3, 4), "completed"), 5: "paused"}
    for job_id, attempts in ATTEMPTS.items():
        assert [step.attempts for step in jobs.find(job_id).steps] == attempts
    invoke(workspace.context, "looseleaf/open-gate", {"job": 1})
    jobs.request(5, "resume")
    assert set(drain(workspace).values()) == {"completed"}
    text = workspace.pages.text(workspace.agents.resolve("ada").shelf.page("MEMORY.md"))
    for job_id in statuses:
        for line in ("step", "end"):
            assert text.count(f"- {line} of {job_id}.\n") == 1, f"{line} of {job_id}"


def test_schedules_fire_at_the_times_that_were_planned(home: Path) -> None:
    """Once for each time, though two workers come a day later."""
    clock = Clock(STOPPED_AT + 86_400)
    with Workspace.open(home, clock=clock) as workspace:
        drain(workspace)
        drain(workspace)
        jobs = jobs_of(workspace).jobs.list(JobFilter())[0]
    keys = sorted(job.idempotency_key for job in jobs if job.id > 5)
    times = ("history_packing@2026-04-18T03:40:00", "retention@2026-04-18T03:30:00")
    assert len(keys) == len(times)
    assert all(f"task:{time}" in key for key, time in zip(keys, times, strict=True)), keys
