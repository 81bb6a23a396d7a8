"""An install and an upgrade, as short scenes that can be stopped anywhere."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.features.bundles import install_operations
from looseleaf.features.bundles.bundle import format_prompt, place_prompt
from looseleaf.features.bundles.install_operations import install_bundle, upgrade_bundle
from looseleaf.features.upkeep.daily_task.conversation import PROMPT
from looseleaf.features.workflows.parts import definitions_of
from tests.features.bundles.agents_of import SOUL, create_ada, edit, encode, export, files_of


class Scene(NamedTuple):
    """What is there before, and what is done."""

    prepare: Callable[[Workspace], object]
    act: Callable[[Workspace], object]


@cache
def build_bundles() -> tuple[str, str]:
    """Return a bundle of ada, and a newer one with other pages, settings and workflows."""
    folder = Path(tempfile.mkdtemp())
    workspace = create_ada(folder / "ada")
    first = files_of(export(workspace, "backup"))
    workspace.close()
    shutil.rmtree(folder)
    newer = {**first, "memory/agent/SOUL.md": SOUL.replace("Calm", "Loud").encode()}
    newer = edit(newer, "pipelines/news.json", name="Other news", system_prompt="Write well.")
    newer = edit(newer, "flows/morning.json", name="Early", run_artifacts={})
    newer = edit(newer, "manifest.json", bundle_version="2")
    return encode(_with_prompt(first, "Please. ")), encode(_with_prompt(newer, "Now. "))


def _with_prompt(files: dict[str, bytes], start: str) -> dict[str, bytes]:
    name = "daily_memory_generation/daily_memory"
    return {**files, place_prompt(name): format_prompt(name, start + PROMPT.default)}


def do_nothing(workspace: Workspace) -> None:
    """Begin with a database, and without ada."""
    assert definitions_of(workspace).pipelines.list() == ([], 0)


def with_ada(workspace: Workspace) -> None:
    """Begin with ada, installed from the first bundle."""
    _install(workspace)


def with_approvals(workspace: Workspace) -> None:
    """Begin with ada, where a page, a schedule and a prompt wait for approval."""
    with_edited_soul(workspace)
    upgrade_bundle(workspace.context, build_bundles()[1])


def with_edited_soul(workspace: Workspace) -> None:
    """Begin with ada, whose SOUL.md was edited here."""
    install_bundle(workspace.context, build_bundles()[0])
    change = {"file": "SOUL.md", "content": "# Mine\n", "agent": "ada", "allow_shrink": True}
    invoke(workspace.context, "datamachine/write-agent-file", change)


def with_flow_file(workspace: Workspace) -> None:
    """Begin with ada, whose flow has an uploaded file."""
    _install(workspace)
    upload = {"file": "b.txt", "data": "eA==", "flow": "morning"}
    invoke(workspace.context, "datamachine/upload-flow-file", upload)


def _upgrade_waiting(workspace: Workspace) -> None:
    upgrade_bundle(workspace.context, build_bundles()[1])


def _upgrade_moving(workspace: Workspace) -> None:
    files = files_of(build_bundles()[1])
    contents = json.loads(files["manifest.json"])["included"]
    pipelines = {"included": {**contents, "pipelines": ["news", "other"]}}
    files["pipelines/other.json"] = files["pipelines/news.json"].replace(b'"news"', b'"other"')
    files = edit(files, "flows/morning.json", pipeline_slug="other")
    upgrade_bundle(workspace.context, encode(edit(files, "manifest.json", **pipelines)))


def _approve_merged(workspace: Workspace) -> None:
    soul = ("memory:SOUL.md",)
    install_operations.approve(workspace.context, "ada", keys=("all",), merge=soul)


def _reject(workspace: Workspace) -> None:
    install_operations.reject(workspace.context, "ada", keys=("all",))


def _approve(workspace: Workspace) -> None:
    install_operations.approve(workspace.context, "ada", keys=("all",))


def _install(workspace: Workspace) -> None:
    install_bundle(workspace.context, build_bundles()[0], approve=("all",))


def _upgrade(workspace: Workspace) -> None:
    upgrade_bundle(workspace.context, build_bundles()[1], approve=("all",))


SCENES = {
    "install": Scene(do_nothing, _install),
    "upgrade": Scene(with_ada, _upgrade),
    "upgrade_waiting": Scene(with_edited_soul, _upgrade_waiting),
    "upgrade_moving": Scene(with_flow_file, _upgrade_moving),
    "approve": Scene(with_approvals, _approve),
    "approve_merged": Scene(with_approvals, _approve_merged),
    "reject": Scene(with_approvals, _reject),
}


def prepare(name: str, root: Path) -> None:
    """Make the workspace of a scene."""
    workspace = Workspace.create(root, agent="main")
    SCENES[name].prepare(workspace)
    workspace.close()


def perform(name: str, root: Path) -> None:
    """Do the act of a scene in a prepared root."""
    with Workspace.open(root) as workspace:
        SCENES[name].act(workspace)


def warm_up() -> None:
    """Act out every scene once, so that everything is imported that ever will be."""
    folder = Path(tempfile.mkdtemp())
    for place, name in enumerate(SCENES):
        prepare(name, folder / str(place))
        perform(name, folder / str(place))
    shutil.rmtree(folder)
