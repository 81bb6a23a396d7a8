"""A night end to end: the schedule fires, a real worker runs the task, a model on loopback answers.

Only the clock and the answers are scripted. Each test waits for what it expects, however long the
machine takes.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from looseleaf import Workspace
from looseleaf.features.upkeep.operations import show_retention
from looseleaf.features.upkeep.retention import RUN
from looseleaf.features.workflows.definitions import Step
from looseleaf.features.workflows.jobs.job import Job
from looseleaf.features.workflows.jobs.queue import JobFilter
from looseleaf.features.workflows.jobs.run import plan_direct_job
from looseleaf.features.workflows.operations import system_tasks
from looseleaf.features.workflows.parts import jobs_of
from looseleaf.features.workflows.schedules import compute_stagger
from looseleaf.features.workflows.system_tasks import RunLog, RunRecord
from looseleaf.operations.agents import create_agent
from looseleaf.operations.doctor import check_workspace
from looseleaf.times import DAY_SECONDS, format_date
from tests.conftest import Clock
from tests.features.upkeep.daily_task.behaviors import perfect
from tests.models.scripted import Reply, Scripted, serve_script
from tests.web.fixtures import Site

TASK = "daily_memory_generation"
SCHEDULE = f"task:{TASK}"
HOUR = 3_600
PAGE = "# Memory\n\n" + "".join(
    f"## Topic {number}\n\n"
    + "".join(f"- fact {number}.{place} is here\n" for place in range(30))
    + "\n"
    for number in range(20)
)
REFUSED = "===PERSISTENT===\n- something that the page never said\n===ARCHIVED===\n"


def wait_until(is_true: Callable[[], bool], seconds: float = 120.0) -> None:
    """Wait for an event in the worker's threads."""
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


class Nights:
    """A workspace with two agents, a worker that can be stopped, and a clock that is moved."""

    def __init__(self, root: Path, model: Scripted) -> None:
        # Two hours before a midnight.
        self.midnight = 4_000_060_800.0
        assert self.midnight % DAY_SECONDS == 0
        self.clock = Clock(self.midnight - 2 * HOUR)
        self.model = model
        Workspace.create(root, agent="ada", clock=self.clock).close()
        (root / "looseleaf.toml").write_text(
            "daily_memory_enabled = true\n"
            'default_model = "near:small"\n'
            f'[providers.near]\nbase_url = "{model.url}"\nkey = "k"\n'
        )
        self.workspace = Workspace.open(root, clock=self.clock)
        create_agent(self.workspace.context, "bob")
        self.agents = [self.workspace.agents.resolve(slug) for slug in ("ada", "bob")]
        self.worker: Any = None

    def fill_pages(self) -> None:
        """Write a page over its budget for both agents."""
        for agent in self.agents:
            (Path(self.workspace.root) / f"agents/{agent.slug}/MEMORY.md").write_text(PAGE)

    def start_worker(self) -> None:
        """Start the worker, and let it note when schedules are due."""
        self.worker = jobs_of(self.workspace).start_worker()
        wait_until(lambda: self.next_run() is not None)

    def stop_worker(self) -> None:
        """Stop the worker, as a server that goes down."""
        jobs_of(self.workspace).close()

    def next_run(self) -> float | None:
        """Return the next time of the schedule, as it is stored."""
        state = jobs_of(self.workspace).schedule_states.list().get(SCHEDULE)
        return None if state is None else state.next_run

    def move_to(self, moment: float) -> None:
        """Set the clock and let the worker look."""
        self.clock.now = moment
        self.worker.wake()

    def jobs(self) -> list[Job]:
        """List the jobs of the task, oldest first."""
        jobs, _ = jobs_of(self.workspace).jobs.list(JobFilter(task_type=TASK), limit=100)
        return list(reversed(jobs))

    def wait_for_jobs(self, count: int) -> list[Job]:
        """Wait until so many jobs have ended."""
        wait_until(lambda: sum(job.is_final for job in self.jobs()) >= count)
        return self.jobs()

    def pass_night(self, count: int) -> list[Job]:
        """Let the next midnight pass, and the hour over which agents are spread."""
        midnight = self.next_run()
        assert midnight is not None
        self.move_to(midnight + 1)
        wait_until(lambda: len(self.jobs()) >= count)
        self.move_to(midnight + HOUR + 1)
        return self.wait_for_jobs(count)

    def last_run(self, slug: str) -> RunRecord:
        """Return the newest record of an agent."""
        agent = self.workspace.agents.resolve(slug)
        return RunLog(self.workspace.root).list(agent.id, task_type=TASK, limit=1)[0]

    def attention(self) -> dict[str, list[str]]:
        """Say where people see that the task needs them: the list, the doctor, /health.

        A server that ends closes its workspace, so that no worker runs afterwards.
        """
        context = self.workspace.context
        tasks = system_tasks.list_tasks(context)
        findings = check_workspace(context)
        site = Site(self.workspace, cast("Any", self.clock))
        site.start()
        try:
            health = site.client.get("/health").json()
        finally:
            site.stop()
        return {
            "list": [task.agent for task in tasks if task.needs_attention],
            "doctor": [
                finding.detail
                for finding in findings
                if (finding.check, finding.status) == ("upkeep", "warning")
            ],
            "health": health.get("upkeep", []),
        }


@pytest.fixture
def nights(tmp_path: Path) -> Iterator[Nights]:
    """Yield a workspace two hours before midnight, without a worker."""
    with serve_script(Scripted()) as model:
        opened = Nights(tmp_path / "root", model)
        yield opened
        opened.workspace.close()


def test_the_nightly_task_runs_for_every_agent(nights: Nights) -> None:
    """At midnight, spread over an hour, for the day that closed, with that day's activity."""
    nights.fill_pages()
    nights.model.script(Reply(perfect(PAGE, random.Random(1))))
    jobs = jobs_of(nights.workspace).jobs
    step = Step("1", "input", "", {"source": "text", "text": "news"})
    done, _ = jobs.add(plan_direct_job("Morning news", (step,), agent_id=nights.agents[0].id))
    jobs.request(done.id, "cancel")
    nights.start_worker()
    assert nights.next_run() == nights.midnight
    assert nights.jobs() == []
    nights.move_to(nights.midnight + 1)
    wait_until(lambda: len(nights.jobs()) == 2)
    expected = [nights.midnight + compute_stagger(agent.id, HOUR) for agent in nights.agents]
    assert [job.not_before for job in nights.jobs()] == expected
    assert len(set(expected)) == 2
    nights.move_to(nights.midnight + HOUR + 1)
    ended = nights.wait_for_jobs(2)
    assert [job.status for job in ended] == ["completed", "completed"]
    day = format_date(nights.midnight - 1)
    for agent in nights.agents:
        record = nights.last_run(agent.slug)
        assert (record.status, record.trigger) == ("compacted", "schedule")
        assert record.details["date"] == day
        folder = Path(nights.workspace.root) / "agents" / agent.slug
        text = (folder / "MEMORY.md").read_text()
        journal = (folder / f"daily/{day.replace('-', '/')}.md").read_text()
        assert len(text) <= 8192
        lines = [line for line in PAGE.splitlines() if line.startswith("- fact")]
        assert all((line in text) != (line in journal) for line in lines)
    prompts = [str(request["messages"]) for request in nights.model.requests]
    heading = f"## Jobs completed on {day}\\n- [direct] Morning news: cancelled"
    assert sum(heading in prompt for prompt in prompts) == 1
    assert not any(TASK in prompt for prompt in prompts)
    wait_until(lambda: nights.next_run() == nights.midnight + DAY_SECONDS)
    assert nights.attention() == {"list": [], "doctor": [], "health": []}


def test_a_task_that_does_not_run_is_seen_and_made_up_for(nights: Nights) -> None:
    """While no server runs; the next one runs the task once for each agent."""
    nights.start_worker()
    nights.pass_night(2)
    nights.stop_worker()
    nights.clock.advance(days=3)
    seen = nights.attention()
    assert seen["list"] == ["ada", "bob"]
    assert all("is overdue" in detail for detail in seen["doctor"])
    assert (len(seen["doctor"]), seen["health"]) == (2, [TASK])
    nights.start_worker()
    wait_until(lambda: len(nights.jobs()) == 4)
    nights.clock.advance(seconds=HOUR)
    nights.worker.wake()
    nights.wait_for_jobs(4)
    assert nights.attention() == {"list": [], "doctor": [], "health": []}


def test_retention_runs_every_night(nights: Nights) -> None:
    """At half past three, as one job; every kind of data has its report."""
    nights.start_worker()
    nights.move_to(nights.midnight + 3.5 * HOUR + 1)
    jobs = jobs_of(nights.workspace).jobs
    chosen = JobFilter(statuses=("completed", "failed"), task_type=RUN)
    wait_until(lambda: bool(jobs.list(chosen)[1]))
    assert jobs.list(chosen)[0][0].status_text == "completed"
    for rule in show_retention(nights.workspace.context):
        assert [run.trigger for run in rule.runs] == ["schedule"]


@pytest.mark.slow
def test_a_model_that_is_refused_every_night_is_seen(nights: Nights) -> None:
    """After the third night; the pages are untouched, and the reports say why."""
    nights.fill_pages()
    nights.model.script(Reply(REFUSED))
    nights.start_worker()
    for night in range(1, 4):
        jobs = nights.pass_night(2 * night)
        assert {job.status for job in jobs} == {"failed"}
        tasks = system_tasks.list_tasks(nights.workspace.context)
        assert any(task.needs_attention for task in tasks) == (night == 3)
    record = nights.last_run("ada")
    assert (record.status, len(record.details["refusals"])) == ("rejected", 3)
    assert (Path(nights.workspace.root) / "agents/ada/MEMORY.md").read_text() == PAGE
    seen = nights.attention()
    assert (len(seen["doctor"]), seen["health"]) == (2, [TASK])
    assert all("ended as rejected 3 times in a row" in detail for detail in seen["doctor"])
