"""A workflow names tools that exist, wherever it is saved; the doctor tells of the others."""

from __future__ import annotations

from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.model_tools import list_model_tools
from looseleaf.errors.features import InvalidWorkflow
from looseleaf.features.workflows.definitions import Flow, Pipeline, Step
from looseleaf.features.workflows.jobs.services import build_pipeline_request
from looseleaf.features.workflows.parts import definitions_of
from looseleaf.operations.doctor import check_workspace
from looseleaf.operations.prompt import explain_prompt
from looseleaf.values import replace
from tests.features.workflows.steps.conftest import Bench, ai_response, bench, open_bench

__all__ = ["bench", "open_bench"]

INPUT = {"type": "input", "settings": {"source": "text", "text": "x"}}
WRONG = "agent_memroy"


def ai_step(**settings: object) -> dict[str, Any]:
    """Make a step that asks a model."""
    return {"type": "ai", "id": "ai", "settings": settings}


PIPELINE = {"name": "Old", "steps": [INPUT, ai_step(enabled_tools=["agent_memory"])]}
SAVES: dict[str, tuple[str, dict[str, Any]]] = {
    "policy": (
        "looseleaf/create-pipeline",
        {"name": "News", "tool_policy": {"mode": "deny", "tools": [WRONG]}},
    ),
    "category": (
        "looseleaf/create-pipeline",
        {"name": "News", "tool_policy": {"mode": "allow", "categories": ["memroy"]}},
    ),
    "step": (
        "looseleaf/create-pipeline",
        {"name": "News", "steps": [INPUT, ai_step(enabled_tools=[WRONG])]},
    ),
    "new policy": (
        "looseleaf/update-pipeline",
        {"pipeline": "old", "tool_policy": {"mode": "deny", "tools": [WRONG]}},
    ),
    "new step": (
        "looseleaf/update-pipeline",
        {"pipeline": "old", "steps": [INPUT, ai_step(disabled_tools=[WRONG])]},
    ),
    "flow": (
        "looseleaf/create-flow",
        {"pipeline": "old", "name": "B", "step_settings": {"ai": {"disabled_tools": [WRONG]}}},
    ),
    "changed flow": (
        "looseleaf/update-flow",
        {"flow": "morning", "step_settings": {"ai": {"enabled_tools": [WRONG]}}},
    ),
    "steps of a job": (
        "datamachine/execute-workflow",
        {"steps": [INPUT, ai_step(enabled_tools=[WRONG])]},
    ),
    "file": (
        "looseleaf/import-pipeline",
        {
            "document": {
                "schema_version": 1,
                "slug": "n",
                "name": "N",
                "tool_policy": {"mode": "deny", "tools": [WRONG]},
            }
        },
    ),
}


@pytest.fixture
def prepared_workspace(workspace: Workspace) -> Workspace:
    """Create a workspace with a pipeline and a flow."""
    invoke(workspace.context, "looseleaf/create-pipeline", PIPELINE)
    invoke(workspace.context, "looseleaf/create-flow", {"pipeline": "old", "name": "Morning"})
    return workspace


@pytest.mark.parametrize("case", SAVES)
def test_a_misspelled_tool_is_refused_with_the_right_one(
    prepared_workspace: Workspace, case: str
) -> None:
    """Nothing is saved, and no job is started."""
    name, arguments = SAVES[case]
    with pytest.raises(InvalidWorkflow, match=r"there is no .*memroy.*nearest: .*memory"):
        invoke(prepared_workspace.context, name, arguments)
    assert len(invoke(prepared_workspace.context, "looseleaf/list-pipelines", {})) == 1
    assert len(invoke(prepared_workspace.context, "looseleaf/list-flows", {})) == 1
    assert invoke(prepared_workspace.context, "datamachine/get-jobs", {})["total"] == 0


def test_the_doctor_names_tools_that_are_gone(prepared_workspace: Workspace) -> None:
    """A stored workflow keeps working, and its other fields can be changed."""
    definitions = definitions_of(prepared_workspace)
    step = Step("ai", "ai", "", {"disabled_tools": ["gone_tool"]})
    policy = {"mode": "deny", "categories": ["gone"]}
    pipeline = definitions.pipelines.add(
        Pipeline(
            id=0,
            slug="plugin",
            name="Plugin",
            agent_id=1,
            user_id=1,
            tool_policy=policy,
            steps=(step,),
        )
    )
    settings = {"ai": {"enabled_tools": ["gone_too"]}}
    flow = definitions.flows.add(
        Flow(
            id=0,
            pipeline_id=pipeline.id,
            slug="evening",
            name="Evening",
            agent_id=1,
            user_id=1,
            step_settings=settings,
        )
    )
    details = [
        finding.detail
        for finding in check_workspace(prepared_workspace.context)
        if (finding.check, finding.status) == ("workflows", "warning")
    ]
    assert len(details) == 3
    assert details[0].startswith("pipeline plugin: in its tool_policy there is no category 'gone'")
    assert details[1].startswith("pipeline plugin: in disabled_tools of step ai there is no tool")
    assert details[2].startswith("flow evening: in enabled_tools of step ai there is no tool")
    invoke(
        prepared_workspace.context,
        "looseleaf/update-pipeline",
        {"pipeline": pipeline.id, "name": "Other"},
    )
    invoke(
        prepared_workspace.context, "looseleaf/update-flow", {"flow": flow.id, "schedule": "daily"}
    )


def explained_tools(
    bench: Bench, policy: dict[str, Any], settings: dict[str, Any]
) -> tuple[set[str], set[str]]:
    """Name the tools that `explain` shows: with the settings in the pipeline, and in the flow."""
    definitions, context = definitions_of(bench.workspace), bench.workspace.context
    names = []
    for step_settings, flow_settings in ((settings, {}), ({}, {"one": settings})):
        step = Step("one", "ai", "", step_settings)
        definitions.pipelines.change(
            bench.pipeline.id,
            lambda pipeline, step=step: replace(pipeline, tool_policy=policy, steps=(step,)),  # type: ignore[misc]
        )
        definitions.flows.change(
            bench.flow.id,
            lambda flow, settings=flow_settings: replace(flow, step_settings=settings),  # type: ignore[misc]
        )
        explanation = explain_prompt(context, "pipeline", flow=bench.flow.id)
        names.append({tool.name for tool in explanation.tools if tool.rule == "given"})
    return names[0], names[1]


@pytest.mark.parametrize(
    ("policy", "settings", "offered"),
    [
        ({}, {}, {"agent_memory", "agent_daily_memory"}),
        ({"mode": "deny", "categories": ["daily"]}, {}, {"agent_memory"}),
        ({"mode": "allow", "categories": ["Daily"]}, {}, {"agent_daily_memory"}),
        ({"mode": "allow", "tools": ["Agent_Memory"]}, {}, {"agent_memory"}),
        (
            {"mode": "allow", "categories": ["memory"]},
            {"enabled_tools": ["agent_daily_memory"]},
            {"agent_daily_memory"},
        ),
        ({"mode": "allow", "categories": ["memory"]}, {"enabled_tools": []}, set()),
        (
            {"mode": "deny", "tools": ["agent_memory"]},
            {"disabled_tools": ["agent_daily_memory"]},
            set(),
        ),
    ],
)
def test_the_policy_of_a_pipeline_narrows_by_name_and_by_category(
    bench: Bench,
    policy: dict[str, Any],
    settings: dict[str, Any],
    offered: set[str],
) -> None:
    """And a step narrows it once more."""
    run = bench.step_run("ai", settings, (ai_response("x"),))
    run = replace(run, pipeline=replace(run.pipeline, tool_policy=policy))
    context = bench.workspace.context
    tools = {tool.name for tool in list_model_tools(context, build_pipeline_request(context, run))}
    assert tools & {"agent_memory", "agent_daily_memory"} == offered
    assert explained_tools(bench, policy, settings) == (tools, tools)
