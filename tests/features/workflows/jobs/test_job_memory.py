"""The memory of a job: its packets after each step, and what is left when it ends."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import cast

import pytest

from looseleaf.features.chat.session import chats_of
from looseleaf.features.workflows.jobs.job import StepRecord
from looseleaf.features.workflows.jobs.queue import Jobs, JobState
from looseleaf.features.workflows.jobs.services import JobMemory, list_packets
from looseleaf.features.workflows.parts import resources_of
from looseleaf.features.workflows.step import StepOutcome
from looseleaf.values import replace
from tests.features.workflows.steps.conftest import Bench, Opener, bench, item, open_bench

__all__ = ["bench", "open_bench"]


def follow(bench: Bench, *outcomes: StepOutcome) -> tuple[JobMemory, JobState]:
    """Follow a job through its steps, as the worker does."""
    steps = tuple(StepRecord(id=f"s{number}", type="input") for number in range(len(outcomes)))
    state = JobState(replace(bench.job(), steps=steps), {"packets": [item("start").to_json()]})
    jobs = cast("Jobs", SimpleNamespace(state=lambda _job_id: state))
    memory = JobMemory(bench.workspace.context, jobs)
    for step, outcome in zip(steps, outcomes, strict=True):
        state = replace(state, outcomes={**state.outcomes, step.id: outcome})
        memory.step_ended(state, step.id)
    return memory, state


def data_file(bench: Bench) -> str:
    """Name the file of packets."""
    return f"pipeline-{bench.pipeline.id}/flow-{bench.flow.id}/jobs/job-7/data.json"


def test_the_file_grows_with_every_step(bench: Bench) -> None:
    """Newest packet first, down to the one that the job was started with."""
    follow(
        bench,
        StepOutcome(packets=(item("one"),)),
        StepOutcome(packets=(item("two b"), item("two a"))),
    )
    packets = json.loads((bench.root / data_file(bench)).read_bytes())
    contents = [packet["data"]["content"] for packet in packets]
    assert contents == ["two b", "two a", "one", "start"]


def test_secrets_are_masked_in_the_file(bench: Bench) -> None:
    """What a feed or a tool brought in is masked as a transcript is."""
    follow(bench, StepOutcome(packets=(item("the token=abcdef123", password="hunter22"),)))
    text = (bench.root / data_file(bench)).read_text()
    assert "abcdef123" not in text
    assert "hunter22" not in text


@pytest.mark.parametrize(
    ("settings", "status", "is_kept"),
    [
        ("", "completed", True),
        ("", "failed", False),
        ("", "cancelled", True),
        ("cleanup_job_data_on_failure = false\n", "failed", True),
    ],
)
def test_the_folder_of_a_failed_job_is_removed(
    open_bench: Opener, settings: str, status: str, *, is_kept: bool
) -> None:
    """Unless the setting says otherwise."""
    bench = open_bench(settings)
    memory, state = follow(bench, StepOutcome(packets=(item("one"),)))
    for _ in range(2):
        memory.job_ended(replace(state.job, status=status))
    assert (bench.root / data_file(bench)).exists() is is_kept


def test_a_failed_job_gives_its_items_back(bench: Bench) -> None:
    """The next job of the flow takes them; a job that ended well keeps them."""
    items = resources_of(bench.workspace).processed_items()
    memory, state = follow(bench)
    for status, next_keys in (("completed", ()), ("failed", ("a",))):
        items.claim(1, "in", ("a",), job_id=7, limit=1)
        memory.job_ended(replace(state.job, status=status))
        assert items.claim(1, "in", ("a",), job_id=8, limit=1) == next_keys


def test_conversations_of_steps_end_with_the_job(bench: Bench) -> None:
    """A turn is kept while the job may need it again, and not longer."""
    outcome = bench.run("ai", {"prompt": "hello"})
    session_id = outcome.packets[0].metadata["session_id"]
    sessions = chats_of(bench.workspace).sessions
    memory, state = follow(bench, outcome)
    assert sessions.find(session_id) is not None
    memory.job_ended(replace(state.job, status="completed"))
    assert sessions.find(session_id) is None
    memory.job_ended(replace(state.job, status="completed"))


def test_packets_are_listed_newest_first(bench: Bench) -> None:
    """As the next step sees them."""
    _, state = follow(bench, StepOutcome(packets=(item("one"),)))
    assert [packet.data["content"] for packet in list_packets(state)] == ["one", "start"]
