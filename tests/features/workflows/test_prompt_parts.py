"""The parts of a prompt that a workflow brings: the row of steps, and the step that asks."""

from __future__ import annotations

import pytest

from looseleaf.errors.features import InvalidWorkflow
from looseleaf.features.workflows.definitions import Flow, Pipeline, Step
from looseleaf.features.workflows.prompt_parts import build_flow_part, build_pipeline_part
from looseleaf.prompt import request

STEPS = (Step("in", "input", "Feed"), Step("write", "ai", "Write"), Step("check", "ai"))
NEWS = Pipeline(
    id=4,
    slug="news",
    name="News",
    agent_id=1,
    user_id=1,
    system_prompt="Write.",
    memory_files=("a.md",),
    steps=STEPS,
)


def test_the_first_ai_step_asks_unless_another_is_named() -> None:
    """Steps are called by their labels."""
    part = build_pipeline_part(NEWS)
    assert part.steps == ("Feed (input)", "Write (ai)", "AI (ai)")
    assert (part.step, build_pipeline_part(NEWS, "check").step) == (1, 2)
    assert (part.system_prompt, part.memory_files) == ("Write.", ("a.md",))
    assert (
        build_pipeline_part(Pipeline(id=1, slug="x", name="X", agent_id=1, user_id=1)).step is None
    )


def test_a_step_that_is_not_there_is_refused() -> None:
    """With the ids there are."""
    with pytest.raises(InvalidWorkflow, match="in, write, check"):
        build_pipeline_part(NEWS, "gone")


def test_a_flow_brings_its_memory() -> None:
    """After that of its pipeline."""
    flow = Flow(
        id=9, pipeline_id=4, slug="f", name="F", agent_id=1, user_id=1, memory_files=("b.md",)
    )
    assert build_flow_part(flow) == request.FlowPart(9, "F", ("b.md",))
