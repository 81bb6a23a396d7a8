"""Types of steps say what they take and give, so that a misfit is found before anything runs."""

from __future__ import annotations

import pytest

from looseleaf.errors import Refused
from looseleaf.errors.features import InvalidStep
from looseleaf.features.workflows.packet import register_core_packets
from looseleaf.features.workflows.step import StepOutcome, StepType, StepTypes, build_effect_key

SETTINGS = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}


def step_type(name: str, takes: str = "", gives: str = "", **more: object) -> StepType:
    """Return a type of step that does nothing."""
    return StepType(
        name=name,
        label=name.title(),
        description="Does nothing.",
        run=lambda _run: StepOutcome(),
        takes=tuple(takes.split()),
        gives=tuple(gives.split()),
        **more,  # type: ignore[arg-type]
    )


@pytest.fixture
def steps() -> StepTypes:
    """Return a registry with three types of steps."""
    types = StepTypes()
    register_core_packets(types.packets)
    types.register(step_type("input", gives="item"))
    types.register(step_type("ai", takes="item ai_response", gives="ai_response"))
    types.register(step_type("publish", takes="*", gives="publication"))
    return types


@pytest.mark.parametrize("names", ["", "input", "input ai publish", "input publish ai"])
def test_steps_that_fit_follow_one_another(steps: StepTypes, names: str) -> None:
    """A step is fed by any step before it, not only by the last one."""
    assert steps.find_misfit(tuple(names.split())) is None


@pytest.mark.parametrize(
    ("names", "why"),
    [
        ("ai", "step 1 (ai) takes ai_response or item, and the steps before it give nothing"),
        ("publish", "step 1 (publish) takes any packet, and the steps before it give nothing"),
    ],
)
def test_a_step_that_nothing_feeds_is_found(steps: StepTypes, names: str, why: str) -> None:
    """The reason says which step, what it takes and what there is."""
    assert steps.find_misfit(tuple(names.split())) == why


def test_an_unknown_type_is_named_with_those_there_are(steps: StepTypes) -> None:
    """The error helps to choose."""
    with pytest.raises(InvalidStep, match="the types are: ai, input, publish"):
        steps.find_misfit(("input", "print"))


def test_settings_are_checked_by_the_schema_of_the_type() -> None:
    """The error names the type and the key."""
    kind = step_type("note", settings=SETTINGS)
    kind.check_settings({"text": "x"})
    with pytest.raises(InvalidStep, match="'note': text is missing"):
        kind.check_settings({})


def test_a_type_that_could_not_run_is_refused(steps: StepTypes) -> None:
    """Names are unique, packets exist, schemas have known rules, and start-up ends."""
    with pytest.raises(InvalidStep, match="there is a type of that name"):
        steps.register(step_type("ai"))
    with pytest.raises(InvalidStep, match="no type of packet 'letter'"):
        steps.register(step_type("post", gives="letter"))
    with pytest.raises(InvalidStep, match="'oneOf'"):
        steps.register(step_type("post", settings={"oneOf": []}))
    assert steps.register(step_type("post"), owner="acme").owner == "acme"
    assert [kind.name for kind in steps.all()] == ["ai", "input", "post", "publish"]
    steps.freeze()
    with pytest.raises(Refused):
        steps.packets.register("late", "Late.")


def test_the_key_of_an_effect_names_job_and_step() -> None:
    """It is the same in every attempt."""
    assert build_effect_key(7, "2") == "job-7/step-2"
