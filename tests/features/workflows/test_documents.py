"""Documents of pipelines and flows: what leaves, and what comes back from a file."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.catalog.json_values import to_json_value
from looseleaf.errors.features import InvalidSchedule, InvalidWorkflow
from looseleaf.features.workflows.definitions import Flow, Pipeline, QueuedPrompt, Schedule, Step
from looseleaf.features.workflows.documents import (
    ScheduleFields,
    describe_schedule,
    export_pipeline,
    queue_prompts,
    read_pipeline_file,
    read_schedule,
)
from looseleaf.features.workflows.packet import register_core_packets
from looseleaf.features.workflows.schedules import ALIASES, INTERVALS
from looseleaf.features.workflows.step import StepTypes
from looseleaf.features.workflows.steps.defaults import register_core_steps
from looseleaf.values import replace

TYPES = StepTypes()
register_core_packets(TYPES.packets)
register_core_steps(TYPES)
NEWS = Pipeline(
    id=4,
    slug="news",
    name="News",
    agent_id=1,
    user_id=1,
    system_prompt="Write.",
    memory_files=("content-strategy.md",),
    tool_policy={"mode": "deny", "tools": ["x"]},
    steps=(Step("input", "input", "Feed", {"limit": 5}), Step("ai", "ai")),
)
MORNING = Flow(
    id=9,
    pipeline_id=4,
    slug="morning",
    name="Morning",
    agent_id=1,
    user_id=1,
    memory_files=("a.md",),
    step_settings={"input": {"limit": 1}},
    prompt_queue=(QueuedPrompt("Go", 5.0),),
    queue_mode="loop",
    schedule=Schedule("cron", "0 6 * * *"),
    run_artifacts={"daily_memory": {}},
)


def test_an_exported_file_is_read_as_it_was() -> None:
    """Without ids of this workspace."""
    document = to_json_value(export_pipeline(NEWS, [MORNING], TYPES))
    pipeline, flows = read_pipeline_file(document, now=5.0)
    assert pipeline == replace(NEWS, id=0, agent_id=0, user_id=0)
    assert flows == (replace(MORNING, id=0, pipeline_id=0, agent_id=0, user_id=0),)
    assert "id" not in document
    assert document["memory_files"] == ["content-strategy.md"]
    assert [step["type"] for step in document["steps"]] == ["input", "ai"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema_version": 2}, "reads 1"),
        ({"schema_version": None}, "reads 1"),
        ({"unknown": 1}, "unknown is not known"),
        ({"name": 5}, "name must be string"),
        ({"memory_files": "a.md"}, "memory_files must be array"),
        ({"memory_files": [1]}, r"memory_files\[0\] must be string"),
        ({"steps": ["ai"]}, r"steps\[0\] must be object"),
        ({"steps": [{"type": "ai", "order": 1}]}, "order is not known"),
        ({"flows": {}}, "flows must be array"),
        ({"flows": [{"name": "x"}]}, "slug"),
        ({"flows": [{"name": "x", "slug": "x", "schedule": {"every": 1}}]}, "every is not known"),
        ({"flows": [{"name": "x", "slug": "x", "schedule": {"enabled": "yes"}}]}, "enabled"),
        ({"flows": [{}] * 501}, "more than 500"),
    ],
)
def test_a_file_that_is_none_is_refused_by_the_field(change: dict[str, Any], message: str) -> None:
    """Before anything is stored."""
    document = {**to_json_value(export_pipeline(NEWS, [MORNING], TYPES)), **change}
    with pytest.raises(InvalidWorkflow, match=message):
        read_pipeline_file(document, now=0.0)


def test_a_schedule_is_read_and_described() -> None:
    """An expression of cron may stand for the interval."""
    assert read_schedule(ScheduleFields()) == Schedule()
    assert read_schedule(ScheduleFields("daily", enabled=False)) == Schedule("daily", enabled=False)
    cron = read_schedule(ScheduleFields("0 6 * * 1"))
    assert (
        cron == read_schedule(ScheduleFields("cron", "0 6 * * 1")) == Schedule("cron", "0 6 * * 1")
    )
    once = read_schedule(ScheduleFields("one_time", at="2026-04-17T09:30:00Z"))
    assert once == Schedule("one_time", at=1_776_418_200.0)
    assert describe_schedule(once) == ScheduleFields("one_time", at="2026-04-17T09:30:00Z")


@pytest.mark.parametrize(
    "fields",
    [
        ScheduleFields("one_time", at="tomorrow"),
        ScheduleFields("one_time"),
        ScheduleFields("sometimes"),
        ScheduleFields("cron"),
        ScheduleFields("61 * * * *"),
    ],
)
def test_a_schedule_that_could_not_be_kept_is_refused(fields: ScheduleFields) -> None:
    """When the flow is saved."""
    with pytest.raises(InvalidSchedule):
        read_schedule(fields)


def test_a_prompt_that_waited_keeps_its_time() -> None:
    """A queue that is written anew."""
    waiting = (QueuedPrompt("a", 1.0), QueuedPrompt("b", 2.0))
    assert queue_prompts(["b", "c"], 9.0, waiting) == (
        QueuedPrompt("b", 2.0),
        QueuedPrompt("c", 9.0),
    )


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        *((interval, ScheduleFields(interval)) for interval in (*INTERVALS, *ALIASES, "6h", "2w")),
        ("0 6 * * *", ScheduleFields("cron", "0 6 * * *")),
        ("30 0 6 * * MON", ScheduleFields("cron", "30 0 6 * * MON")),
        ("@daily", ScheduleFields("cron", "@daily")),
        ("2026-04-17T09:30Z", ScheduleFields("one_time", at="2026-04-17T09:30Z")),
        ("2026-04-17 09:30", ScheduleFields("one_time", at="2026-04-17T09:30Z")),
        (" daily ", ScheduleFields("daily")),
        ("manual", ScheduleFields()),
        ("", ScheduleFields()),
    ],
)
def test_a_short_text_means_what_the_fields_mean(text: str, fields: ScheduleFields) -> None:
    """Every interval, cron, one time, and no schedule."""
    assert read_schedule(text) == read_schedule(fields)


@pytest.mark.parametrize(
    "text",
    ["sometimes", "every day", "0 6 * *", "61 6 * * *", "cron", "one_time", "0s", "d" * 9999],
)
def test_a_text_that_is_no_schedule_is_refused(text: str) -> None:
    """With an error that stays short."""
    with pytest.raises(InvalidSchedule) as refusal:
        read_schedule(text)
    assert len(str(refusal.value)) < 500


@given(st.text(max_size=40))
def test_any_text_is_a_schedule_or_refused(text: str) -> None:
    """Nothing else is raised, and a schedule reads back as itself."""
    try:
        schedule = read_schedule(text)
    except InvalidSchedule:
        return
    assert read_schedule(describe_schedule(schedule)) == schedule
