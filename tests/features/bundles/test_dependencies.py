"""Flows need pipelines, schedules need flows: what was deleted or waits stops no upgrade."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.errors import InvalidArgument
from looseleaf.errors.features import UpgradeOutdated
from tests.features.bundles.agents_of import create_ada, edit, encode, export, files_of, install_ada

STEP = {"step_position": 2, "step_id": "extra", "step_type": "ai", "label": "", "step_config": {}}
SETTINGS = {"step_position": 2, "step_id": "extra", "handler_configs": {"prompt": "Again."}}
FLOW, PIPELINE = "flows/morning.json", "pipelines/news.json"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the files of a bundle whose pipeline denies a tool."""
    with create_ada(tmp_path_factory.mktemp("ada")) as workspace:
        bundle = files_of(export(workspace))
    return edit(bundle, PIPELINE, tool_policy={"mode": "deny", "tools": ["delete_agent"]})


def add_file(
    files: dict[str, bytes],
    kind: str,
    slug: str,
    **fields: Any,  # noqa: ANN401 - any JSON
) -> dict[str, bytes]:
    """Add a pipeline or flow that is like the first one."""
    path = PIPELINE if kind == "pipelines" else FLOW
    document = json.loads(files[path]) | fields | {"slug": slug, "name": slug.capitalize()}
    included = json.loads(files["manifest.json"])["included"]
    included = {**included, kind: sorted([*included[kind], slug])}
    added = {**files, f"{kind}/{slug}.json": json.dumps(document).encode()}
    return edit(added, "manifest.json", included=included)


def widen(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return a newer bundle: the pipeline has another step, and denies nothing."""
    steps = json.loads(files[PIPELINE])["steps"]
    newer = edit(files, "manifest.json", bundle_version="2")
    return edit(newer, PIPELINE, tool_policy={}, steps=[*steps, STEP])


def upgrade(workspace: Workspace, files: dict[str, bytes], **options: Any) -> dict[str, Any]:  # noqa: ANN401
    """Upgrade ada, and return the result."""
    arguments = {"data": encode(files), "agent": "ada", **options}
    result: dict[str, Any] = invoke(workspace.context, "looseleaf/upgrade-bundle", arguments)
    return result


def reasons(result: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return bucket and reason by key, of what does not stay the same."""
    return {
        entry["key"]: (entry["bucket"], entry["reason"])
        for entry in result["entries"]
        if entry["bucket"] != "no_op"
    }


@pytest.mark.parametrize("approve", [[], ["all"]])
def test_a_deleted_flow_stays_deleted(
    files: dict[str, bytes], tmp_path: Path, approve: list[str]
) -> None:
    """Its schedule and queue are warnings, too, and the rest of the upgrade is applied."""
    with install_ada(tmp_path, files) as workspace:
        invoke(workspace.context, "looseleaf/delete-flow", {"flow": "morning"})
        newer = edit(files, PIPELINE, name="Other news")
        result = upgrade(workspace, newer, approve=approve)
        stays = ("warnings", "missing_local_artifact")
        assert reasons(result) == {
            "pipeline:news": ("auto_apply", "local_unchanged_from_installed"),
            "flow:morning": stays,
            "schedule:morning": stays,
            "seed_queue:morning": stays,
        }
        assert result["applied"] == ["pipeline:news"]


def test_a_new_flow_of_a_deleted_pipeline_is_a_warning(
    files: dict[str, bytes], tmp_path: Path
) -> None:
    """It could not be stored, and nothing else is held up by it."""
    with install_ada(tmp_path, files) as workspace:
        invoke(workspace.context, "looseleaf/delete-pipeline", {"pipeline": "news"})
        result = upgrade(workspace, add_file(files, "flows", "evening"))
        assert reasons(result)["flow:evening"] == ("warnings", "missing_pipeline")
        assert result["applied"] == result["waiting"] == []


def test_a_flow_waits_with_the_steps_of_its_pipeline(
    files: dict[str, bytes], tmp_path: Path
) -> None:
    """Approved alone it is refused; together with the pipeline both are applied."""
    newer = edit(widen(files), FLOW, steps=[SETTINGS])
    with install_ada(tmp_path, files) as workspace:
        result = upgrade(workspace, newer)
        assert reasons(result)["pipeline:news"] == ("needs_approval", "widens_rights")
        assert reasons(result)["flow:morning"] == ("needs_approval", "needs_pipeline")
        decide = {"agent": "ada", "keys": ["flow:morning"]}
        with pytest.raises(InvalidArgument, match="pipeline:news; approve both"):
            invoke(workspace.context, "looseleaf/approve-upgrade", decide)
        with pytest.raises(InvalidArgument, match="pipeline:news; approve both"):
            upgrade(workspace, newer, approve=["flow:morning"])
        both = {"agent": "ada", "keys": ["flow:morning", "pipeline:news"]}
        decision = invoke(workspace.context, "looseleaf/approve-upgrade", both)
        assert decision["keys"] == ["pipeline:news", "flow:morning"]
        flow = invoke(workspace.context, "looseleaf/show-flow", {"flow": "morning"})
        assert flow["step_settings"] == {"extra": {"prompt": "Again."}}


@pytest.mark.parametrize("is_later", [False, True])
def test_a_new_flow_that_waits_brings_its_queue_and_a_paused_schedule(
    files: dict[str, bytes], tmp_path: Path, *, is_later: bool
) -> None:
    """Its schedule still has to be approved for itself, and can be."""
    newer = add_file(widen(files), "flows", "evening", steps=[SETTINGS])
    keys = ["flow:evening", "pipeline:news"]
    with install_ada(tmp_path, files) as workspace:
        result = upgrade(workspace, newer, approve=[] if is_later else keys)
        assert reasons(result)["seed_queue:evening"] == ("needs_approval", "needs_flow")
        if is_later:
            arguments = {"agent": "ada", "keys": keys}
            invoke(workspace.context, "looseleaf/approve-upgrade", arguments)
        flow = invoke(workspace.context, "looseleaf/show-flow", {"flow": "evening"})
        assert flow["prompt_queue"] == ["Go."]
        assert flow["schedule"]["enabled"] is False
        schedule = {"agent": "ada", "keys": ["schedule:evening"]}
        decision = invoke(workspace.context, "looseleaf/approve-upgrade", schedule)
        assert decision["waiting"] == ["schedule:morning"]
        flow = invoke(workspace.context, "looseleaf/show-flow", {"flow": "evening"})
        assert flow["schedule"]["enabled"] is True


def test_a_flow_moves_to_another_pipeline_with_its_files(
    files: dict[str, bytes], tmp_path: Path
) -> None:
    """The next upgrade finds it there, and nothing is left in the folder of the first pipeline."""
    moved = edit(add_file(files, "pipelines", "other"), FLOW, pipeline_slug="other")
    with install_ada(tmp_path, files) as workspace:
        upload = {"file": "a.txt", "data": "eA==", "flow": "morning"}
        invoke(workspace.context, "datamachine/upload-flow-file", upload)
        assert "flow:morning" in upgrade(workspace, moved)["applied"]
        flow = invoke(workspace.context, "looseleaf/show-flow", {"flow": "morning"})
        assert flow["pipeline"] == "other"
        paths = [path for path in tmp_path.rglob("flow-*-files/a.txt") if path.is_file()]
        assert [path.read_bytes() for path in paths] == [b"x"]
        assert f"pipeline-{flow['pipeline_id']}" in str(paths[0])
        assert "flow:morning" not in reasons(upgrade(workspace, moved))
        assert "flow:morning" in upgrade(workspace, files)["applied"]
        flow = invoke(workspace.context, "looseleaf/show-flow", {"flow": "morning"})
        assert flow["pipeline"] == "news"


def test_a_part_whose_pipeline_was_deleted_meanwhile_is_outdated(
    files: dict[str, bytes], tmp_path: Path
) -> None:
    """An approval says so, and changes nothing."""
    with install_ada(tmp_path, files) as workspace:
        context = workspace.context
        invoke(context, "looseleaf/update-flow", {"flow": "morning", "name": "Mine"})
        upgrade(workspace, edit(files, FLOW, name="Theirs"))
        invoke(context, "looseleaf/delete-pipeline", {"pipeline": "news"})
        with pytest.raises(UpgradeOutdated):
            invoke(context, "looseleaf/approve-upgrade", {"agent": "ada", "keys": ["all"]})
