"""An install and an upgrade, as short scenes that can be stopped anywhere."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from looseleaf import Workspace
from looseleaf.operations.bundle_installs import install_bundle, upgrade_bundle
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
    return encode(first), encode(newer)


def nothing(workspace: Workspace) -> None:
    """Begin with a database, and without ada."""
    assert workspace.definitions().pipelines.list() == ([], 0)


def with_ada(workspace: Workspace) -> None:
    """Begin with ada, installed from the first bundle."""
    install_bundle(workspace.context, bundles()[0])


SCENES = {
    "install": Scene(nothing, lambda workspace: install_bundle(workspace.context, bundles()[0])),
    "upgrade": Scene(with_ada, lambda workspace: upgrade_bundle(workspace.context, bundles()[1])),
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
