"""Pipelines as operations: made, found, changed under a version, copied and deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.errors import Conflicted
from looseleaf.errors.features import InvalidWorkflow, PipelineMissing, SlugTaken, WorkflowAmbiguous
from looseleaf.errors.pages import VersionRequired
from looseleaf.features.workflows.definitions import Step
from looseleaf.features.workflows.operations import flows, pipelines
from looseleaf.features.workflows.parts import definitions_of
from looseleaf.values import replace


def test_a_pipeline_is_found_by_id_slug_and_agent(workspace: Workspace) -> None:
    """A slug that two agents have is asked about."""
    context = workspace.context
    news = pipelines.create_pipeline(context, "Daily Music News")
    assert (news.id, news.slug, news.agent, news.user_id) == (1, "daily-music-news", "ada", 1)
    for reference in (1, "1", "daily-music-news", "ada/daily-music-news"):
        assert pipelines.show_pipeline(context, reference) == news
    for reference in (2, "news", "bob/daily-music-news", 10**20, ""):
        with pytest.raises(PipelineMissing):
            pipelines.show_pipeline(context, reference)
    invoke(context, "looseleaf/create-agent", {"slug": "bob"})
    pipelines.create_pipeline(context, "Daily Music News", agent="bob")
    with pytest.raises(WorkflowAmbiguous, match="ada/daily-music-news, bob/daily-music-news"):
        pipelines.show_pipeline(context, "daily-music-news")
    assert pipelines.show_pipeline(context, "bob/daily-music-news").id == 2
    assert [pipeline.id for pipeline in pipelines.list_pipelines(context, agent="bob")] == [2]


def test_a_change_names_the_version_that_it_read(workspace: Workspace) -> None:
    """Whoever read an older one is refused, and nothing is written."""
    context = workspace.context
    news = pipelines.create_pipeline(context, "News")
    newer = pipelines.update_pipeline(context, 1, system_prompt="Write.", if_match=news.hash)
    assert (newer.system_prompt, newer.hash != news.hash) == ("Write.", True)
    with pytest.raises(Conflicted):
        pipelines.update_pipeline(context, 1, name="Other", if_match=news.hash)
    with pytest.raises(Conflicted):
        pipelines.delete_pipeline(context, 1, if_match=news.hash)
    with pytest.raises(Conflicted):
        flows.set_pipeline_memory_files(context, 1, add=("a.md",), if_match=news.hash)
    assert pipelines.show_pipeline(context, 1) == newer


def test_a_server_can_ask_every_change_for_a_version(workspace: Workspace) -> None:
    """As it asks changes of pages."""
    pipelines.create_pipeline(workspace.context, "News")
    settings = replace(workspace.settings, require_if_match=True)
    context = replace(workspace.context, settings=settings, surface="rest")
    with pytest.raises(VersionRequired):
        pipelines.update_pipeline(context, 1, name="Other")


def test_only_named_fields_change(workspace: Workspace) -> None:
    """An empty text takes the task away; the slug stays with a new name."""
    context = workspace.context
    pipelines.create_pipeline(
        context,
        "News",
        system_prompt="Write.",
        memory_files=("a.md",),
        tool_policy={"mode": "deny"},
    )
    named = pipelines.update_pipeline(context, 1, name="Music News")
    assert (named.slug, named.system_prompt, named.memory_files) == ("news", "Write.", ("a.md",))
    emptied = pipelines.update_pipeline(context, 1, system_prompt="", tool_policy={})
    assert (emptied.system_prompt, emptied.tool_policy) == ("", {})
    pipelines.create_pipeline(context, "Other", slug="other")
    with pytest.raises(SlugTaken):
        pipelines.update_pipeline(context, 1, slug="other")


def test_memory_files_are_added_and_removed(workspace: Workspace) -> None:
    """However they are spelled; a core file is refused through every way."""
    context = workspace.context
    pipelines.create_pipeline(context, "News")
    change = flows.set_pipeline_memory_files
    assert change(context, 1, memory_files=("a.md", "b.md")) == ["a.md", "b.md"]
    assert change(context, 1, add=("c.md", "A.md"), remove=("B.MD",)) == ["a.md", "c.md"]
    assert flows.list_pipeline_memory_files(context, 1) == ["a.md", "c.md"]
    with pytest.raises(InvalidWorkflow, match="core file"):
        change(context, 1, add=("MEMORY.md",))
    with pytest.raises(InvalidWorkflow, match="core file"):
        invoke(context, "looseleaf/update-pipeline", {"pipeline": 1, "memory_files": ["soul.md"]})


def test_a_step_of_an_unknown_type_is_refused(workspace: Workspace) -> None:
    """With the types there are."""
    with pytest.raises(InvalidWorkflow, match="the types are"):
        pipelines.create_pipeline(workspace.context, "News", steps=(Step(type="fetch"),))
    assert pipelines.list_pipelines(workspace.context) == []


def test_a_pipeline_is_copied_and_deleted(workspace: Workspace) -> None:
    """The deletion says what went with it."""
    context = workspace.context
    pipelines.create_pipeline(context, "News", memory_files=("a.md",))
    flows.create_flow(context, "news", "Morning")
    invoke(context, "looseleaf/create-agent", {"slug": "bob"})
    copy = pipelines.copy_pipeline(context, 1, agent="bob")
    assert (copy.name, copy.slug, copy.agent, copy.flows) == ("News (copy)", "news-copy", "bob", 0)
    assert copy.memory_files == ("a.md",)
    removal = pipelines.delete_pipeline(context, "ada/news")
    assert (removal.slug, removal.flows) == ("news", ("morning",))
    assert [pipeline.slug for pipeline in pipelines.list_pipelines(context)] == ["news-copy"]


def test_pipelines_of_a_deleted_agent_stay_for_the_operator(workspace: Workspace) -> None:
    """Restoring the agent brings them back to it."""
    context = workspace.context
    invoke(context, "looseleaf/create-agent", {"slug": "bob"})
    pipelines.create_pipeline(context, "News", agent="bob")
    invoke(context, "looseleaf/delete-agent", {"agent": "bob", "files": True})
    assert pipelines.show_pipeline(context, 1).agent == ""
    assert pipelines.delete_pipeline(context, 1).slug == "news"


def test_a_pipeline_does_not_inherit_files(workspace: Workspace) -> None:
    """The original plugin's, or those of a pipeline whose database was lost."""
    for number in (1, 2):
        Path(workspace.root, f"pipeline-{number}", "context").mkdir(parents=True)
        Path(workspace.root, f"pipeline-{number}", "context", "secret.txt").write_text("x")
    created = pipelines.create_pipeline(workspace.context, "News", agent="ada")
    assert created.id == 3
    assert definitions_of(workspace).pipelines.list()[1] == 1
