"""References to credentials: a flow that lacks one arrives with a warning, and stays paused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.errors import InvalidArgument
from looseleaf.features.bundles.artifacts import Artifact
from looseleaf.features.bundles.plan import find_unresolved
from tests.features.bundles.agents_of import create_ada, edit, encode, export, files_of

SITE = '\n[wordpress_sites.blog]\nurl = "https://blog.example"\nuser = "ada"\n'


def workflow(step: dict[str, Any], own: dict[str, Any]) -> dict[str, Artifact]:
    pipeline = {"steps": [{"step_id": "a", **step}]}
    flow = {"pipeline_slug": "p", "steps": [{"step_id": "a", "handler_configs": own}]}
    return {
        "pipeline:p": Artifact("pipeline:p", "", pipeline),
        "flow:f": Artifact("flow:f", "", flow),
    }


@pytest.mark.parametrize(
    ("step", "own", "names"),
    [
        ({"step_type": "publish", "step_config": {"site": "blog"}}, {}, ("site/blog",)),
        ({"step_type": "publish", "step_config": {"site": "blog"}}, {"site": "here"}, ()),
        ({"step_type": "input", "step_config": {"site": "blog"}}, {}, ()),
        ({"step_type": "x"}, {"headers": [{"t": "Bearer <auth-ref:f/a/t>"}]}, ("f/a/t",)),
        ({"step_type": "x", "step_config": {"t": "<auth-ref:>"}}, {"n": 1}, ()),
    ],
)
def test_references_are_sites_and_places_of_secrets(
    step: dict[str, Any], own: dict[str, Any], names: tuple[str, ...]
) -> None:
    """The settings of the flow count before those of the step."""
    unresolved = find_unresolved(workflow(step, own), {"here"})
    assert unresolved == ({"f": names} if names else {})


def test_a_flow_without_its_credential_stays_paused(tmp_path: Path) -> None:
    """The plan warns, approving its schedule is refused, and all but it can be approved."""
    files = files_of(export(create_ada(tmp_path / "ada")))
    steps = json.loads(files["pipelines/news.json"])["steps"]
    settings = {"target": "wordpress", "site": "blog"}
    publish = {"step_position": 2, "step_id": "publish", "step_type": "publish"}
    steps.append({**publish, "step_config": settings})
    data = encode(edit(files, "pipelines/news.json", steps=steps))
    root = tmp_path / "other"
    with Workspace.create(root, agent="main") as workspace:
        arguments: dict[str, Any] = {"data": data, "approve": ["schedule:morning"]}
        with pytest.raises(InvalidArgument, match="credential"):
            invoke(workspace.context, "looseleaf/install-bundle", arguments)
        arguments["approve"] = ["all"]
        plan = invoke(workspace.context, "looseleaf/install-bundle", arguments)
        reasons = {entry["key"]: entry["reason"] for entry in plan["entries"]}
        assert reasons["auth_ref:site/blog"] == "unresolved_auth_ref"
        assert plan["waiting"] == ["schedule:morning"]
        flow = invoke(workspace.context, "looseleaf/show-flow", {"flow": "morning"})
        assert flow["schedule"]["enabled"] is False
    with (root / "looseleaf.toml").open("a") as file:
        file.write(SITE)
    with Workspace.open(root) as workspace:
        plan = invoke(workspace.context, "looseleaf/upgrade-bundle", arguments)
        assert (plan["applied"], plan["waiting"]) == (["schedule:morning"], [])
