"""Flows as operations: of a pipeline, with a schedule, memory and a queue of their own."""

from __future__ import annotations

import pytest

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.schemas import build_input_schema
from looseleaf.errors import Conflicted
from looseleaf.errors.features import FlowMissing, InvalidSchedule, InvalidWorkflow, PipelineMissing
from looseleaf.features.workflows.documents import ScheduleFields
from looseleaf.features.workflows.operations import flows, pipelines


@pytest.fixture
def prepared_workspace(workspace: Workspace) -> Workspace:
    """Create a workspace with the pipeline news."""
    pipelines.create_pipeline(workspace.context, "News")
    return workspace


def test_a_flow_is_found_by_id_slug_and_pipeline(prepared_workspace: Workspace) -> None:
    """A slug alone, if only one flow has it."""
    context = prepared_workspace.context
    morning = flows.create_flow(context, "news", "Morning", schedule=ScheduleFields("daily"))
    assert (morning.id, morning.pipeline, morning.agent) == (1, "news", "ada")
    for reference in (1, "1", "morning", "news/morning", "ada/news/morning"):
        assert flows.show_flow(context, reference) == morning
    for reference in (2, "evening", "other/morning", "news/evening"):
        with pytest.raises(FlowMissing):
            flows.show_flow(context, reference)
    with pytest.raises(PipelineMissing):
        flows.create_flow(context, "gone", "Morning")
    assert flows.list_flows(context, pipeline="news") == [morning]


def test_a_flow_changes_under_its_version(prepared_workspace: Workspace) -> None:
    """Fields that are not named stay."""
    context = prepared_workspace.context
    morning = flows.create_flow(context, 1, "Morning", prompt_queue=("Go",), queue_mode="loop")
    newer = flows.update_flow(
        context, 1, schedule=ScheduleFields("hourly", enabled=False), if_match=morning.hash
    )
    assert (newer.schedule.interval, newer.prompt_queue) == ("hourly", ("Go",))
    with pytest.raises(Conflicted):
        flows.update_flow(context, 1, name="Evening", if_match=morning.hash)
    with pytest.raises(Conflicted):
        flows.delete_flow(context, 1, if_match=morning.hash)


def test_a_schedule_is_given_by_its_fields_or_as_a_text(prepared_workspace: Workspace) -> None:
    """Every surface takes both, and the schema says so."""
    context = prepared_workspace.context
    body = {"pipeline": "news", "name": "Morning", "schedule": "0 6 * * *"}
    morning = invoke(context, "looseleaf/create-flow", body)
    assert (morning["schedule"]["interval"], morning["schedule"]["cron"]) == ("cron", "0 6 * * *")
    change = {"flow": "morning", "schedule": {"interval": "hourly", "enabled": False}}
    assert invoke(context, "looseleaf/update-flow", change)["schedule"]["enabled"] is False
    change = {"flow": "morning", "schedule": "manual"}
    assert invoke(context, "looseleaf/update-flow", change)["schedule"]["interval"] == "manual"
    with pytest.raises(InvalidSchedule, match="available: cron, daily"):
        invoke(context, "looseleaf/update-flow", {"flow": "morning", "schedule": "sometimes"})
    for name in ("looseleaf/create-flow", "looseleaf/update-flow"):
        options = build_input_schema(CATALOG[name])["properties"]["schedule"]["anyOf"]
        assert {option["type"] for option in options} >= {"object", "string"}


def test_a_prompt_is_queued_at_the_end(prepared_workspace: Workspace) -> None:
    """The same prompt may wait twice."""
    context = prepared_workspace.context
    flows.create_flow(context, 1, "Morning")
    for prompt in ("one", "two", "one"):
        flows.queue_prompt(context, 1, prompt)
    assert flows.show_flow(context, 1).prompt_queue == ("one", "two", "one")
    with pytest.raises(InvalidWorkflow, match="empty"):
        flows.queue_prompt(context, 1, "  ")


def test_memory_files_of_a_flow_are_its_own(prepared_workspace: Workspace) -> None:
    """Core files are refused."""
    context = prepared_workspace.context
    flows.create_flow(context, 1, "Morning", memory_files=("a.md",))
    changed_files = flows.set_flow_memory_files(context, 1, add=("b.md",), remove=("a.md",))
    assert changed_files.memory_files == ("b.md",)
    assert flows.list_flow_memory_files(context, 1) == changed_files
    with pytest.raises(InvalidWorkflow, match="core file"):
        flows.set_flow_memory_files(context, 1, add=("USER.md",))
    assert flows.list_pipeline_memory_files(context, 1) == []


def test_a_copy_runs_only_after_someone_resumes_it(prepared_workspace: Workspace) -> None:
    """Its schedule is paused."""
    context = prepared_workspace.context
    flows.create_flow(context, 1, "Morning", schedule=ScheduleFields("daily"))
    copy = flows.copy_flow(context, "morning")
    assert (copy.slug, copy.schedule) == ("morning-copy", ScheduleFields("daily", enabled=False))
    removal = flows.delete_flow(context, "morning")
    assert (removal.slug, removal.pipeline) == ("morning", "news")
    assert [flow.slug for flow in flows.list_flows(context)] == ["morning-copy"]
