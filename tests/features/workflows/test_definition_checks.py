"""The rules of definitions: core files, steps that fit together, settings, names and bounds."""

from __future__ import annotations

from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.errors import InvalidName
from looseleaf.errors.features import InvalidWorkflow
from looseleaf.errors.pages import InvalidPolicy
from looseleaf.features.workflows.definitions import (
    MOST_FILES,
    MOST_PROMPTS,
    MOST_STEPS,
    Flow,
    Pipeline,
    QueuedPrompt,
    Step,
    check_flow,
    check_pipeline,
    number_steps,
)
from looseleaf.features.workflows.packet import register_core_packets
from looseleaf.features.workflows.step import StepOutcome, StepRun, StepType, StepTypes
from looseleaf.values import replace

TEXT = {"type": "string"}
SCHEMA = {"type": "object", "properties": {"text": TEXT}, "additionalProperties": False}


def run(_run: StepRun) -> StepOutcome:
    """Do nothing."""
    return StepOutcome()


@pytest.fixture
def types() -> StepTypes:
    """Return a source, a step in the middle and one at the end."""
    types = StepTypes()
    register_core_packets(types.packets)
    types.register(
        StepType(
            name="source",
            label="Source",
            description="Gives.",
            run=run,
            takes=(),
            gives=("item",),
            settings=SCHEMA,
        )
    )
    types.register(
        StepType(
            name="think",
            label="Think",
            description="Thinks.",
            run=run,
            takes=("item",),
            gives=("ai_response",),
            settings=SCHEMA,
        )
    )
    types.register(
        StepType(
            name="post",
            label="Post",
            description="Posts.",
            run=run,
            takes=("ai_response",),
            gives=(),
            settings=SCHEMA,
        )
    )
    return types


ROW = (Step("source", "source", "Feed", {"text": "x"}), Step("think", "think"), Step("p", "post"))
NEWS = Pipeline(id=1, slug="news", name="News", agent_id=1, user_id=1, steps=ROW)
MORNING = Flow(id=1, pipeline_id=1, slug="morning", name="Morning", agent_id=1, user_id=1)


def test_a_pipeline_that_fits_together_is_accepted(workspace: Workspace, types: StepTypes) -> None:
    """With pages of the agent in folders, too; the same page is selected once."""
    files = ("content-strategy.md", "contexts/x.md", "Content-Strategy.md")
    checked = check_pipeline(replace(NEWS, memory_files=files), workspace.registry, types)
    assert checked == replace(NEWS, memory_files=files[:2])


@pytest.mark.parametrize(
    "name", ["SOUL.md", "soul.md", "USER.md", "MEMORY.md", "SITE.md", "Rules.MD"]
)
def test_a_core_file_is_no_choice(workspace: Workspace, types: StepTypes, name: str) -> None:
    """However it is spelled, of pipelines and of flows: prompts have it already."""
    with pytest.raises(InvalidWorkflow, match="core file"):
        check_pipeline(replace(NEWS, memory_files=(name,)), workspace.registry, types)
    with pytest.raises(InvalidWorkflow, match="core file"):
        check_flow(replace(MORNING, memory_files=(name,)), NEWS, workspace.registry, types)


@pytest.mark.parametrize("name", ["../x.md", "x.exe", "/etc/passwd.md", "a//b.md", ".x.md"])
def test_names_of_pages_pass_the_one_validator(
    workspace: Workspace, types: StepTypes, name: str
) -> None:
    """As everywhere."""
    with pytest.raises(InvalidName):
        check_pipeline(replace(NEWS, memory_files=(name,)), workspace.registry, types)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (ROW[::-1], "do not fit together.*step 1 .post. takes ai_response"),
        (ROW[1:], "do not fit together.*the steps before it give nothing"),
        ((ROW[0], ROW[2]), "do not fit together.*takes ai_response.*give item"),
        ((Step("a", "fetch"),), "the types are: post, source, think"),
        ((Step("a", "source", settings={"texts": "x"}),), "texts"),
        ((ROW[0], replace(ROW[1], id="source")), "once in a pipeline"),
        ((Step("A b", "source"),), "an id is one word"),
        ((Step("a", "source", "x\ny"),), "one line"),
        (tuple(Step(f"s{n}", "source") for n in range(MOST_STEPS + 1)), "more than 50"),
    ],
)
def test_steps_that_could_not_run_are_refused(
    workspace: Workspace, types: StepTypes, steps: tuple[Step, ...], message: str
) -> None:
    """When the pipeline is saved, with the types and settings there are."""
    with pytest.raises(InvalidWorkflow, match=message):
        check_pipeline(replace(NEWS, steps=steps), workspace.registry, types)


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"name": " "},
        {"name": "a\nb"},
        {"name": "x" * 201},
        {"slug": "No Slug"},
        {"system_prompt": "x" * 100_001},
        {"system_prompt": "a\0b"},
        {"memory_files": tuple(f"{n}.md" for n in range(MOST_FILES + 1))},
        {"steps": (Step("a", "source", settings={"text": "x" * 300_000}),)},
    ],
)
def test_every_field_has_a_bound(
    workspace: Workspace, types: StepTypes, change: dict[str, Any]
) -> None:
    """One clear error."""
    with pytest.raises(InvalidWorkflow):
        check_pipeline(replace(NEWS, **change), workspace.registry, types)


def test_a_tool_policy_is_checked_as_that_of_an_agent(
    workspace: Workspace, types: StepTypes
) -> None:
    """It says one thing, or is refused."""
    with pytest.raises(InvalidPolicy):
        check_pipeline(replace(NEWS, tool_policy={"tools": ["x"]}), workspace.registry, types)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"queue_mode": "random"}, "static, drain, loop"),
        ({"prompt_queue": (QueuedPrompt(" "),)}, "empty"),
        ({"prompt_queue": (QueuedPrompt("x"),) * (MOST_PROMPTS + 1)}, "more than 1000"),
        ({"step_settings": {"gone": {}}}, "no step 'gone'; its steps are: source, think, p"),
        ({"step_settings": {"source": {"words": 1}}}, "words"),
        ({"step_settings": {"source": 1}}, "an object"),
        ({"run_artifacts": {"x": float("nan")}}, "not JSON"),
    ],
)
def test_a_flow_that_could_not_run_is_refused(
    workspace: Workspace, types: StepTypes, change: dict[str, Any], message: str
) -> None:
    """Its settings fit the steps of its pipeline."""
    flow = replace(MORNING, step_settings={"source": {"text": "y"}})
    assert check_flow(flow, NEWS, workspace.registry, types) == flow
    with pytest.raises(InvalidWorkflow, match=message):
        check_flow(replace(MORNING, **change), NEWS, workspace.registry, types)


def test_new_steps_get_ids_and_old_ids_are_not_given_again() -> None:
    """Flows name steps by their ids."""
    new = Step("", "ai")
    assert [step.id for step in number_steps([new, new, Step("x", "ai")])] == ["ai", "ai-2", "x"]
    assert [step.id for step in number_steps([new], [Step("ai", "ai")])] == ["ai-2"]


def test_the_egress_policy_of_a_flow_is_normalized(workspace: Workspace, types: StepTypes) -> None:
    """Unknown sources, targets and paths that lead out are dropped when the flow is saved."""
    policy = {
        "daily_memory": {"egress": ["PR-BODY", "nowhere"], "bundle_relative_path": "../x.md"},
        "everything": {"egress": ["artifact"]},
    }
    flow = check_flow(replace(MORNING, run_artifacts=policy), NEWS, workspace.registry, types)
    assert flow.run_artifacts == {"daily_memory": {"egress": ["pr-body"]}}
