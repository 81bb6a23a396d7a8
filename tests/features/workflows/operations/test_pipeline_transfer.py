"""A pipeline as one file: exported, imported elsewhere, all of it or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.errors.features import InvalidWorkflow
from looseleaf.features.workflows.documents import ScheduleFields
from looseleaf.features.workflows.operations import flows, pipelines
from looseleaf.features.workflows.operations.pipelines import import_pipeline


@pytest.fixture
def document(workspace: Workspace) -> dict[str, Any]:
    """Export a pipeline with a flow."""
    context = workspace.context
    pipelines.create_pipeline(context, "News", memory_files=("a.md",), system_prompt="Write.")
    flows.create_flow(context, 1, "Morning", schedule=ScheduleFields("daily"), prompt_queue=("Go",))
    exported: dict[str, Any] = invoke(context, "looseleaf/export-pipeline", {"pipeline": 1})
    return exported


def test_a_file_makes_the_same_pipeline_again(
    workspace: Workspace, document: dict[str, Any]
) -> None:
    """For another agent; its schedules are paused, and nothing else differs."""
    context = workspace.context
    invoke(context, "looseleaf/create-agent", {"slug": "bob"})
    imported = import_pipeline(context, document, agent="bob")
    assert (imported.slug, imported.agent, imported.flows) == ("news", "bob", 1)
    again = invoke(context, "looseleaf/export-pipeline", {"pipeline": imported.id})
    assert again["flows"][0]["schedule"]["enabled"] is False
    again["flows"][0]["schedule"]["enabled"] = True
    assert again == document


def test_a_slug_that_is_taken_gets_a_number(workspace: Workspace, document: dict[str, Any]) -> None:
    """The name stays, unless another one is given."""
    assert import_pipeline(workspace.context, document).slug == "news-2"
    other = import_pipeline(workspace.context, document, name="Weekly")
    assert (other.name, other.slug) == ("Weekly", "weekly")


def test_flows_may_stay_out_of_the_file(workspace: Workspace, document: dict[str, Any]) -> None:
    """Only the pipeline itself."""
    asked = {"pipeline": 1, "without_flows": True}
    exported = invoke(workspace.context, "looseleaf/export-pipeline", asked)
    assert exported == {**document, "flows": []}


@pytest.mark.parametrize(
    "change",
    [
        {"memory_files": ["SOUL.md"]},
        {"steps": [{"type": "unknown"}]},
        {"flows": [{"slug": "x", "name": "X", "memory_files": ["USER.md"]}]},
        {"flows": [{"slug": "x", "name": "X"}, {"slug": "y", "name": ""}]},
    ],
)
def test_a_file_with_a_fault_changes_nothing(
    workspace: Workspace, document: dict[str, Any], change: dict[str, Any]
) -> None:
    """Neither the pipeline nor a flow of it."""
    with pytest.raises(InvalidWorkflow):
        import_pipeline(workspace.context, {**document, **change})
    assert len(pipelines.list_pipelines(workspace.context)) == 1
    assert len(flows.list_flows(workspace.context)) == 1
