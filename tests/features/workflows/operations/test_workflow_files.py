"""Uploaded files as operations: by step, flow or pipeline, in prompts, copied and deleted."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.errors import InvalidArgument
from looseleaf.errors.features import FileMissing, FlowMissing
from looseleaf.features.workflows.definitions import Step
from looseleaf.features.workflows.operations.files import find_folder
from looseleaf.features.workflows.parts import definitions_of
from looseleaf.features.workflows.uploads import FileFolder
from looseleaf.operations.prompt import explain_prompt
from looseleaf.values import replace


@pytest.fixture
def prepared_workspace(workspace: Workspace) -> Workspace:
    """Create a workspace with a pipeline that has a step input, and a flow."""
    context = workspace.context
    invoke(context, "looseleaf/create-pipeline", {"name": "News"})
    invoke(context, "looseleaf/create-flow", {"pipeline": 1, "name": "Morning"})
    pipelines = definitions_of(context.parts).pipelines
    pipelines.change(1, lambda item: replace(item, steps=(Step("input", "input"),)))
    return workspace


def upload(workspace: Workspace, name: str, content: bytes, **place: Any) -> Any:  # noqa: ANN401
    """Upload a file."""
    given = {"file": name, "data": b64encode(content).decode(), **place}
    return invoke(workspace.context, "datamachine/upload-flow-file", given)


def test_a_folder_is_named_by_step_flow_or_pipeline(prepared_workspace: Workspace) -> None:
    """By exactly one of them; a step that the pipeline does not have is missing."""
    context = prepared_workspace.context
    assert find_folder(context, "input_1", None, None) == FileFolder(1, 1)
    assert find_folder(context, "", "morning", None) == FileFolder(1, 1)
    assert find_folder(context, "", None, "news") == FileFolder(1)
    for step in ("input_2", "ai_1", "input", "1"):
        with pytest.raises(FlowMissing):
            find_folder(context, step, None, None)
    for named in (("", None, None), ("input_1", 1, None), ("", 1, 1)):
        with pytest.raises(InvalidArgument):
            find_folder(context, *named)


def test_files_of_a_step_are_those_of_its_flow(prepared_workspace: Workspace) -> None:
    """Listed with path, size and time."""
    upload(prepared_workspace, "a.txt", b"abc", flow_step_id="input_1")
    listed = invoke(prepared_workspace.context, "datamachine/list-flow-files", {"flow": 1})
    paths = [(item["filename"], item["path"], item["size"]) for item in listed]
    assert paths == [("a.txt", "pipeline-1/flow-1/flow-1-files/a.txt", 3)]
    gone = {"file": "a.txt", "flow": 1}
    assert (
        invoke(prepared_workspace.context, "datamachine/delete-flow-file", gone)["filename"]
        == "a.txt"
    )
    with pytest.raises(FileMissing):
        invoke(prepared_workspace.context, "datamachine/delete-flow-file", gone)
    with pytest.raises(InvalidArgument, match="base64"):
        invoke(prepared_workspace.context, "datamachine/upload-flow-file", {**gone, "data": "?"})


def test_context_files_stand_in_prompts(prepared_workspace: Workspace) -> None:
    """Texts whole, others by name; a flow's files do not."""
    upload(prepared_workspace, "style.md", b"Name the label.", pipeline=1)
    upload(prepared_workspace, "cover.png", b"\x89PNG\0", pipeline=1)
    upload(prepared_workspace, "large.txt", b"x" * 300_000, pipeline=1)
    upload(prepared_workspace, "input.txt", b"raw input", flow=1)
    explanation = explain_prompt(prepared_workspace.context, "pipeline", flow="morning")
    names = {
        candidate.name: candidate.rule
        for candidate in explanation.candidates
        if candidate.directive == "pipeline-context-files"
    }
    assert names == dict.fromkeys(("style.md", "cover.png", "large.txt"), "injected")
    asked = {"mode": "pipeline", "flow": 1, "format": "text"}
    text = invoke(prepared_workspace.context, "looseleaf/compose-prompt", asked)["text"]
    assert "Name the label." in text
    assert "pipeline-1/context/cover.png" in text
    assert "xxxx" not in text
    assert "raw input" not in text


def test_context_files_go_with_a_copy_and_with_the_pipeline(prepared_workspace: Workspace) -> None:
    """The deletion says how many files it removed."""
    context = prepared_workspace.context
    upload(prepared_workspace, "style.md", b"Name the label.", pipeline=1)
    upload(prepared_workspace, "input.txt", b"raw input", flow=1)
    definitions = definitions_of(context.parts)
    definitions.pipelines.change(1, lambda item: replace(item, steps=()))
    invoke(context, "looseleaf/copy-pipeline", {"pipeline": 1})
    copied = invoke(context, "datamachine/list-flow-files", {"pipeline": 2})
    assert [item["path"] for item in copied] == ["pipeline-2/context/style.md"]
    removal = invoke(context, "looseleaf/delete-pipeline", {"pipeline": 1})
    assert (removal["context_files"], removal["flow_files"]) == (1, 1)
