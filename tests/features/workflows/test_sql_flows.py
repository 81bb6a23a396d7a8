"""Flows in a database: the same on SQLite and on PostgreSQL."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from looseleaf.errors.features import PipelineMissing, SlugTaken
from looseleaf.features.workflows.definitions import Flow, QueuedPrompt, Schedule
from looseleaf.features.workflows.sql_definitions import SqlDefinitions
from looseleaf.values import replace
from tests.conftest import Clock
from tests.features.workflows.test_sql_pipelines import NEWS, nothing

QUEUE = (QueuedPrompt("one", 1.5), QueuedPrompt("two", 2.0))
MORNING = Flow(
    id=0,
    pipeline_id=1,
    slug="",
    name="Morning edition",
    agent_id=3,
    user_id=1,
    memory_files=("morning.md",),
    step_settings={"input": {"n": 5}},
    prompt_queue=QUEUE,
    queue_mode="drain",
    schedule=Schedule("cron", "0 6 * * *", enabled=False),
    run_artifacts={"daily_memory": {"egress": ["bundle-file"]}},
)


@pytest.fixture(autouse=True)
def pipeline(definitions: SqlDefinitions) -> None:
    """Add a pipeline for the flows."""
    definitions.pipelines.add(NEWS)


def test_a_flow_is_read_as_it_was_added(definitions: SqlDefinitions, clock: Clock) -> None:
    """Every field, and what lies inside."""
    added = definitions.flows.add(MORNING)
    times = {"created": clock.now, "updated": clock.now}
    assert added == replace(MORNING, id=1, slug="morning-edition", **times)
    assert definitions.flows.find(1) == added
    assert definitions.flows.find(2) is None


def test_a_flow_belongs_to_a_pipeline(definitions: SqlDefinitions) -> None:
    """One that is not there is named."""
    with pytest.raises(PipelineMissing):
        definitions.flows.add(replace(MORNING, pipeline_id=9))


def test_slugs_are_unique_in_a_pipeline(definitions: SqlDefinitions) -> None:
    """And not between pipelines."""
    other = definitions.pipelines.add(NEWS).id
    flows = [definitions.flows.add(MORNING) for _ in range(2)]
    assert [flow.slug for flow in flows] == ["morning-edition", "morning-edition-2"]
    assert definitions.flows.add(replace(MORNING, pipeline_id=other)).slug == "morning-edition"
    with pytest.raises(SlugTaken):
        definitions.flows.change(flows[1].id, lambda item: replace(item, slug="morning-edition"))


def test_flows_are_listed_by_name(definitions: SqlDefinitions) -> None:
    """Of a pipeline, of agents, or of all."""
    other = definitions.pipelines.add(NEWS).id
    for name, pipeline, agent in (("b", 1, 3), ("A", other, 3), ("c", 1, 4)):
        new = replace(MORNING, name=name, pipeline_id=pipeline, agent_id=agent)
        definitions.flows.add(new)
    names = [flow.name for flow in definitions.flows.list()[0]]
    assert names == ["A", "b", "c"]
    assert [flow.name for flow in definitions.flows.list(pipeline=1)[0]] == ["b", "c"]
    page, count = definitions.flows.list(pipeline=1, agents=[3, 4], limit=1)
    assert ([flow.name for flow in page], count) == (["b"], 2)


def test_a_flow_is_changed_and_deleted(definitions: SqlDefinitions, clock: Clock) -> None:
    """Only what the edit says."""
    added = definitions.flows.add(MORNING)
    clock.advance(seconds=5)
    edited = definitions.flows.change(added.id, lambda item: replace(item, name="Evening"))
    assert edited == replace(added, name="Evening", updated=clock.now)
    assert definitions.flows.delete(added.id, nothing)
    assert not definitions.flows.delete(added.id, nothing)
    assert definitions.flows.change(added.id, lambda item: item) is None


@pytest.mark.parametrize(
    ("mode", "taken"),
    [
        ("static", ["one", "one", "one"]),
        ("drain", ["one", "two", None]),
        ("loop", ["one", "two", "one"]),
    ],
)
def test_a_queue_gives_prompts_by_its_mode(
    definitions: SqlDefinitions, mode: str, taken: list[str | None]
) -> None:
    """The head stays, leaves, or goes to the end."""
    flow = definitions.flows.add(replace(MORNING, queue_mode=mode))
    prompts = [definitions.flows.take_prompt(flow.id, f"job-{n}:ai") for n in range(3)]
    assert prompts == taken


def test_a_repeated_step_takes_the_same_prompt(definitions: SqlDefinitions) -> None:
    """Also an empty queue that was filled meanwhile; the job had been told that it is empty."""
    flow = definitions.flows.add(MORNING)
    keys = ["job-1:ai", "job-1:ai", "job-2:ai", "job-3:ai"]
    prompts = [definitions.flows.take_prompt(flow.id, key) for key in keys]
    assert prompts == ["one", "one", "two", None]
    definitions.flows.change(flow.id, lambda item: replace(item, prompt_queue=QUEUE))
    assert definitions.flows.take_prompt(flow.id, "job-3:ai") is None
    assert definitions.flows.take_prompt(99, "job-1:ai") is None


def test_jobs_at_once_take_prompts_of_their_own(definitions: SqlDefinitions) -> None:
    """Each prompt is taken once."""
    queue = tuple(QueuedPrompt(str(number)) for number in range(8))
    flow = definitions.flows.add(replace(MORNING, prompt_queue=queue))
    with ThreadPoolExecutor(4) as pool:
        keys = [f"job-{number}:ai" for number in range(8)]
        prompts = list(pool.map(lambda key: definitions.flows.take_prompt(flow.id, key), keys))
    assert sorted(str(prompt) for prompt in prompts) == [str(number) for number in range(8)]
