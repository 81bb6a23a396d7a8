"""A flow as a value: its version, the settings of a step, and the names of steps in the seeds."""

from __future__ import annotations

import pytest

from looseleaf.features.workflows.definitions import (
    Flow,
    QueuedPrompt,
    Schedule,
    Step,
    format_flow_step,
    parse_flow_step,
)
from looseleaf.values import replace

MORNING = Flow(
    id=7,
    pipeline_id=1,
    slug="morning",
    name="Morning",
    agent_id=3,
    user_id=1,
    step_settings={"input": {"limit": 5}},
)


def test_the_version_follows_every_field_but_the_times() -> None:
    """Also what lies inside: the schedule and the queue."""
    assert replace(MORNING, updated=9.0).version == MORNING.version
    changes: tuple[dict[str, object], ...] = (
        {"schedule": Schedule("daily")},
        {"schedule": Schedule(enabled=False)},
        {"prompt_queue": (QueuedPrompt("Go"),)},
        {"queue_mode": "loop"},
        {"memory_files": ("a.md",)},
        {"run_artifacts": {"daily_memory": {}}},
        {"step_settings": {}},
    )
    for change in changes:
        assert replace(MORNING, **change).version != MORNING.version


def test_settings_of_a_flow_override_those_of_the_step() -> None:
    """Key by key."""
    step = Step("input", "input", settings={"limit": 1, "url": "x"})
    assert MORNING.settings_of(step) == {"limit": 5, "url": "x"}
    assert MORNING.settings_of(Step("ai", "ai", settings={"a": 1})) == {"a": 1}


def test_a_step_of_a_flow_has_the_name_that_the_seeds_give_it() -> None:
    """Step ids may have underscores of their own."""
    assert format_flow_step("webhook_gate", 7) == "webhook_gate_7"
    assert parse_flow_step("webhook_gate_7") == ("webhook_gate", 7)


@pytest.mark.parametrize(
    "name", ["", "input", "_7", "input_", "input_x", "input_²", "a_1234567890"]
)
def test_a_text_that_names_no_step_of_a_flow_is_none(name: str) -> None:
    """Instead of a wrong flow."""
    assert parse_flow_step(name) is None
