"""An install and an upgrade, as short scenes that can be stopped anywhere."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from looseleaf import Workspace
from looseleaf.bundles.layout.prompt_files import format_prompt, place_prompt
from looseleaf.catalog.dispatch import invoke
from looseleaf.operations import pending_upgrades
from looseleaf.operations.bundle_installs import install_bundle, upgrade_bundle
from looseleaf.upkeep.daily_task.prompt_text import PROMPT
from tests.bundles.agents_of import SOUL, create_ada, edit, encode, export, files_of


class Scene(NamedTuple):
    """What is there before, and what is done."""

    prepare: Callable[[Workspace], object]
    act: Callable[[Workspace], object]


@cache
def bundles() -> tuple[str, str]:
    """Give a bundle of ada, and a newer one with other pages, settings and workflows."""
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


def nothing(workspace: Workspace) -> None:
    """Begin with a database, and without ada."""
    assert workspace.definitions().pipelines.list() == ([], 0)


def with_ada(workspace: Workspace) -> None:
    """Begin with ada, installed from the first bundle."""
    _install(workspace)


def with_approvals(workspace: Workspace) -> None:
    """Begin with ada, where a page, a schedule and a prompt wait for approval."""
    install_bundle(workspace.context, bundles()[0])
    change = {"file": "SOUL.md", "content": "# Mine\n", "agent": "ada", "allow_shrink": True}
    invoke(workspace.context, "datamachine/write-agent-file", change)
    upgrade_bundle(workspace.context, bundles()[1])


def _approve(workspace: Workspace) -> None:
    pending_upgrades.approve(workspace.context, "ada", keys=("all",))


def _install(workspace: Workspace) -> None:
    install_bundle(workspace.context, bundles()[0], approve=("all",))


def _upgrade(workspace: Workspace) -> None:
    upgrade_bundle(workspace.context, bundles()[1], approve=("all",))


SCENES = {
    "install": Scene(nothing, _install),
    "upgrade": Scene(with_ada, _upgrade),
    "approve": Scene(with_approvals, _approve),
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
