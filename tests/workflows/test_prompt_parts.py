"""The parts of a prompt that a workflow brings: the row of steps, and the step that asks."""

from __future__ import annotations

import pytest

from looseleaf.errors.workflows import InvalidWorkflow
from looseleaf.prompt import request
from looseleaf.workflows.flow import Flow
from looseleaf.workflows.pipeline import Pipeline, Step
from looseleaf.workflows.prompt_parts import build_flow_part, build_pipeline_part

STEPS = (Step("in", "input", "Feed"), Step("write", "ai", "Write"), Step("check", "ai"))
NEWS = Pipeline(4, "news", "News", 1, 1, "Write.", ("a.md",), steps=STEPS)


def test_the_first_ai_step_asks_unless_another_is_named() -> None:
    """Steps are called by their labels."""
    part = build_pipeline_part(NEWS)
    assert part.steps == ("Feed (input)", "Write (ai)", "AI (ai)")
    assert (part.step, build_pipeline_part(NEWS, "check").step) == (1, 2)
    assert (part.system_prompt, part.memory_files) == ("Write.", ("a.md",))
    assert build_pipeline_part(Pipeline(1, "x", "X", 1, 1)).step is None


def test_a_step_that_is_not_there_is_refused() -> None:
    """With the ids there are."""
    with pytest.raises(InvalidWorkflow, match="in, write, check"):
        build_pipeline_part(NEWS, "gone")


def test_a_flow_brings_its_memory() -> None:
    """After that of its pipeline."""
    flow = Flow(9, 4, "f", "F", 1, 1, ("b.md",))
    assert build_flow_part(flow) == request.FlowPart(9, "F", ("b.md",))
