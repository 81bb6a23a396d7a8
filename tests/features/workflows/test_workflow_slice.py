"""The prompt of a workflow: exactly the slice of memory that its pipeline and flow select."""

from __future__ import annotations

import pytest

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.errors import InvalidArgument
from looseleaf.errors.features import InvalidWorkflow
from looseleaf.features.workflows.operations import flows, pipelines
from looseleaf.memory.scope import Where
from looseleaf.operations.prompt import explain_prompt


@pytest.fixture
def prepared_workspace(workspace: Workspace) -> Workspace:
    """Create a workspace with pages, a pipeline and a flow that select some of them."""
    context = workspace.context
    for name in ("content-strategy", "contexts/x", "morning", "unselected"):
        invoke(
            context,
            "datamachine/write-agent-file",
            {"file": f"{name}.md", "content": f"Text of {name}.\n"},
        )
    pipelines.create_pipeline(
        context,
        "News",
        system_prompt="Write the news.",
        memory_files=("content-strategy.md", "contexts/x.md"),
    )
    flows.create_flow(context, "news", "Morning", memory_files=("morning.md",))
    return workspace


def rules(workspace: Workspace) -> dict[str, str]:
    """Return the rule of every candidate by its name."""
    explanation = explain_prompt(workspace.context, "pipeline", flow="morning")
    return {candidate.name: candidate.rule for candidate in explanation.candidates}


def test_a_workflow_sees_its_slice_and_no_more(prepared_workspace: Workspace) -> None:
    """Pages of the pipeline, then of the flow, then the task."""
    asked = {"mode": "pipeline", "format": "text"}
    prompt = invoke(
        prepared_workspace.context, "looseleaf/compose-prompt", {**asked, "flow": "morning"}
    )
    text = prompt["text"]
    places = [
        text.index(f"Text of {name}") for name in ("content-strategy", "contexts/x", "morning")
    ]
    assert places == sorted(places)
    assert text.index("Write the news.") > places[-1]
    assert "unselected" not in text
    prompt = invoke(
        prepared_workspace.context, "looseleaf/compose-prompt", {**asked, "pipeline": "news"}
    )
    assert "Text of morning" not in prompt["text"]


def test_the_memory_policy_filters_both_lists(prepared_workspace: Workspace) -> None:
    """And the explanation names the rule that left a page out."""
    assert (
        rules(prepared_workspace)["contexts/x.md"]
        == rules(prepared_workspace)["morning.md"]
        == "injected"
    )
    deny = {"memory_policy": {"mode": "deny", "deny": ["contexts/*", "morning.md"]}}
    invoke(
        prepared_workspace.context, "looseleaf/configure-agent", {"agent": "ada", "config": deny}
    )
    found = rules(prepared_workspace)
    assert (found["contexts/x.md"], found["morning.md"]) == ("policy_deny", "policy_deny")
    assert found["content-strategy.md"] == "injected"
    allow = {"memory_policy": {"mode": "allow_only", "allow_only": ["SOUL.md", "morning.md"]}}
    invoke(
        prepared_workspace.context, "looseleaf/configure-agent", {"agent": "ada", "config": allow}
    )
    found = rules(prepared_workspace)
    assert found["content-strategy.md"] == found["MEMORY.md"] == "policy_allow_only"
    assert found["morning.md"] == "injected"


def test_the_agent_is_that_of_the_pipeline(prepared_workspace: Workspace) -> None:
    """Another one is refused, and so is a flow of another pipeline."""
    context = prepared_workspace.context
    invoke(context, "looseleaf/create-agent", {"slug": "bob"})
    explanation = explain_prompt(context, "pipeline", pipeline="news")
    assert explanation.agent == "ada"
    with pytest.raises(InvalidArgument, match="another agent"):
        explain_prompt(context, "pipeline", pipeline="news", where=Where("bob"))
    pipelines.create_pipeline(context, "Other", agent="ada")
    with pytest.raises(InvalidArgument, match="no flow of"):
        explain_prompt(context, "pipeline", pipeline="other", flow="news/morning")
    with pytest.raises(InvalidWorkflow, match="no step"):
        explain_prompt(context, "pipeline", pipeline="news", step="ai")


def compare(workspace: Workspace, **sides: object) -> dict[str, str]:
    """Compare two prompts, and return the kind of difference of each part."""
    comparison = invoke(workspace.context, "looseleaf/diff-prompts", {"mode": "pipeline", **sides})
    return {entry["name"]: entry["kind"] for entry in comparison["differences"]}


def test_two_workflows_are_compared(prepared_workspace: Workspace) -> None:
    """A pipeline with its flow, with none, and with itself."""
    with_flow = compare(prepared_workspace, pipeline="news", other={"flow": "morning"})
    assert with_flow["morning.md"] == "added"
    assert with_flow["content-strategy.md"] == "same"
    with_none = compare(prepared_workspace, flow="morning", other={"pipeline": ""})
    assert with_none["morning.md"] == with_none["content-strategy.md"] == "removed"
    assert set(compare(prepared_workspace, flow="morning").values()) == {"same"}
    in_chat = compare(prepared_workspace, flow="morning", other={"mode": "chat"})
    assert in_chat["morning.md"] == "removed"


def test_a_side_with_a_workflow_is_in_the_mode_pipeline(prepared_workspace: Workspace) -> None:
    """Unless it says another one; the agent is that of the workflow."""
    arguments = {"mode": "chat", "other": {"flow": "morning"}}
    comparison = invoke(prepared_workspace.context, "looseleaf/diff-prompts", arguments)
    kinds = {entry["name"]: entry["kind"] for entry in comparison["differences"]}
    assert kinds["morning.md"] == "added"
    prepared_workspace.agents.create("bob")
    other_agent = compare(prepared_workspace, flow="morning", other={"agent": "bob"})
    assert other_agent["morning.md"] == "removed"
    with pytest.raises(InvalidArgument, match="another agent"):
        compare(prepared_workspace, agent="ada", other={"agent": "bob", "flow": "morning"})
