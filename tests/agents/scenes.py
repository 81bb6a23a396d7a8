"""The ways agents are changed on disk, each as a short scene that can be stopped anywhere."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from looseleaf import Change, Workspace
from looseleaf.memory.provenance import Provenance
from looseleaf.operations import agents

BY = Change("prepare", Provenance("ada"))


class Scene(NamedTuple):
    """What is there before, and what is done."""

    prepare: Callable[[Workspace], object]
    act: Callable[[Workspace], object]


def do_nothing(workspace: Workspace) -> None:
    """Begin with ada alone."""


def with_bob(workspace: Workspace) -> None:
    """Begin with a second agent that has pages of its own."""
    bob = agents.create_agent(workspace.context, "bob", name="Bob")
    workspace.pages.append(bob.shelf.page("contexts/editor.md"), "his", change=BY)


def without_bob(workspace: Workspace) -> None:
    """Begin with a second agent that was deleted with its pages."""
    with_bob(workspace)
    agents.delete_agent(workspace.context, "bob", files=True)


def with_his_folder(workspace: Workspace) -> None:
    """Begin with a second agent that was deleted, and its folder is still there."""
    with_bob(workspace)
    agents.delete_agent(workspace.context, "bob")


def with_a_folder(workspace: Workspace) -> None:
    """Begin with a folder that a person made, which has one of the core pages."""
    folder = Path(workspace.root, "agents/bob")
    folder.mkdir()
    (folder / "MEMORY.md").write_text("by hand\n")


def without_a_register(workspace: Workspace) -> None:
    """Begin with a workspace as it was before there was a register."""
    Path(workspace.root, "agents/register.json").unlink()
    Path(workspace.root, ".looseleaf/workspace").unlink()
    Path(workspace.root, ".looseleaf/agents/next").write_text("2\n")


def create(workspace: Workspace) -> None:
    """Create the second agent."""
    agents.create_agent(workspace.context, "bob", name="Bob", config={"tone": "calm"})


def rename(workspace: Workspace) -> None:
    """Change its slug."""
    agents.rename_agent(workspace.context, "bob", "robert")


def rename_with_name(workspace: Workspace) -> None:
    """Change its slug and its name."""
    agents.rename_agent(workspace.context, "bob", "robert", name="Robert")


def delete(workspace: Workspace) -> None:
    """Delete it without its pages."""
    agents.delete_agent(workspace.context, "bob")


def delete_with_files(workspace: Workspace) -> None:
    """Delete it with its pages."""
    agents.delete_agent(workspace.context, "bob", files=True)


def restore(workspace: Workspace) -> None:
    """Bring it back."""
    agents.restore_agent(workspace.context, "bob")


def configure(workspace: Workspace) -> None:
    """Change its configuration."""
    agents.configure_agent(workspace.context, "bob", {"tone": "calm"})


SCENES = {
    "create": Scene(do_nothing, create),
    "create without a register": Scene(without_a_register, create),
    "create in a folder that is there": Scene(with_a_folder, create),
    "rename": Scene(with_bob, rename),
    "rename with a name": Scene(with_bob, rename_with_name),
    "delete": Scene(with_bob, delete),
    "delete with files": Scene(with_bob, delete_with_files),
    "restore": Scene(without_bob, restore),
    "restore to its folder": Scene(with_his_folder, restore),
    "configure": Scene(with_bob, configure),
}


def prepare(name: str, root: Path) -> None:
    """Make the workspace of a scene."""
    workspace = Workspace.create(root, agent="ada")
    SCENES[name].prepare(workspace)
    workspace.close()


def perform(name: str, root: Path) -> None:
    """Do the act of a scene in a prepared root."""
    SCENES[name].act(Workspace.open(root))


def warm_up() -> None:
    """Act out every scene once, so that everything is imported that ever will be."""
    folder = Path(tempfile.mkdtemp())
    for place, name in enumerate(SCENES):
        prepare(name, folder / str(place))
        perform(name, folder / str(place))
    shutil.rmtree(folder)
