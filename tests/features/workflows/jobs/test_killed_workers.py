"""Workers of a real workspace are killed everywhere: every job ends, each page changes once."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.features.workflows.definitions import Step
from looseleaf.features.workflows.jobs.run import plan_direct_job
from looseleaf.features.workflows.parts import jobs_of
from looseleaf.memory.provenance import JOB

SETTINGS = 'default_model = "echo"\ndaily_memory_enabled = true\n'
HOUSE = Path(__file__).parents[4]
PAGES = ("MEMORY.md", "daily")


def steps(number: int) -> tuple[Step, ...]:
    """Bring in a text; write by a tool of the model, into a section, and into the journal."""
    call = f'/call agent_daily_memory {{"action": "write", "content": "- tool of {number}."}}'
    section = {"target": "section", "section": "State", "template": f"- step of {number}."}
    return (
        Step("source", "input", "", {"source": "text", "text": f"number {number}"}),
        Step("draft", "ai", "", {"prompt": call}),
        Step("learn", "memory_update", "", section),
        Step("note", "memory_update", "", {"target": "daily", "template": f"- day of {number}."}),
    )


class Site:
    """A workspace with jobs, and the program whose workers die."""

    def __init__(self, workspace: Workspace, process: subprocess.Popen[str]) -> None:
        self.workspace, self._process = workspace, process
        self.agent = workspace.agents.resolve("ada")
        self.jobs = jobs_of(workspace).jobs
        self.count = 0

    def add_job(self) -> None:
        """Add a job with a number of its own."""
        job = plan_direct_job(f"Job {self.count}", steps(self.count), agent_id=self.agent.id)
        self.jobs.add(job)
        self.count += 1

    def work(self, life: int | str) -> str:
        """Have a worker live for so many points, or until the end; return how it died."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{life}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        assert answer.startswith(("killed at ", "ended")), answer
        return answer

    def check(self) -> None:
        """Every job has ended well, and every line is there once, in a revision of its own."""
        store = jobs_of(self.workspace).store
        assert store.queue.list_uncleared() == ()
        shelf = self.agent.shelf
        days = [entry.filename for entry in self.workspace.pages.list(shelf, "daily")]
        text = "".join(self.workspace.pages.text(shelf.page(name)) for name in ("MEMORY.md", *days))
        keys = Counter(
            revision.activity_id
            for name in ("MEMORY.md", *days)
            for revision in self.workspace.history.revisions(shelf.page(name))
            if revision.activity == JOB
        )
        assert set(keys.values()) == {1}
        for number in range(self.count):
            job = self.jobs.find(number + 1)
            assert job.status_text == "completed"
            for line in ("tool", "step", "day"):
                assert text.count(f"- {line} of {number}.\n") == 1, f"{line} of {number}"
            assert len(job.writes) == 3
            folder = f"pipeline-direct/flow-direct/jobs/job-{job.id}"
            packets = json.loads(Path(self.workspace.root, folder, "data.json").read_text())
            assert [packet["type"] for packet in packets][-1] == "item"


@contextmanager
def open_site(root: Path, database_url: str) -> Iterator[Site]:
    """Create a workspace on a database, and start the program whose workers die."""
    Workspace.create(root, agent="ada").close()
    address = f'database_url = "{database_url}"\n' if database_url else ""
    (root / "looseleaf.toml").write_text(SETTINGS + address)
    workspace = Workspace.open(root)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.features.workflows.jobs.killed_workers", str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=HOUSE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["src", "."])},
    )
    try:
        yield Site(workspace, process)
    finally:
        process.kill()
        process.communicate()
        workspace.close()


def kill_workers(site: Site, count: int, seed: int) -> Counter[str]:
    """Kill so many workers at points that lie all over a job; return where each died."""
    chance = random.Random(seed)
    site.add_job()
    answer = site.work(1_000_000)
    points = int(answer.removeprefix("ended after "))
    # A worker also continues the job that the one before it left, so it lives for up to two jobs.
    lives = [int((n + chance.random()) * 1.5 * points / count) for n in range(count)]
    chance.shuffle(lives)
    deaths: Counter[str] = Counter()
    for life in lives:
        site.add_job()
        deaths[site.work(life)] += 1
    site.work("end")
    return deaths


def test_killed_workers_lose_and_repeat_nothing(
    tmp_path: Path, database_url: str, seed: int
) -> None:
    """A few kills, with the database of this machine and with one that is shared."""
    with open_site(tmp_path / "root", database_url) as site:
        deaths = kill_workers(site, 4, seed)
        site.check()
    assert any(place.startswith("killed at") for place in deaths)


@pytest.mark.slow
def test_two_hundred_kills_lose_and_repeat_nothing(
    tmp_path: Path, database_url: str, seed: int
) -> None:
    """Before and after every act on a job, each statement, commit, rename and sync."""
    with open_site(tmp_path / "root", database_url) as site:
        deaths: Counter[str] = Counter()
        while (left := 200 - sum(deaths[place] for place in deaths if "killed" in place)) > 0:
            deaths += kill_workers(site, left, seed + site.count)
        site.check()
    print(dict(deaths))  # noqa: T201 - the places, which -rP shows
