"""A compaction, its undo and its recovery, each as a short scene that can be stopped anywhere."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from looseleaf import Workspace
from looseleaf.features.upkeep.daily_task.compaction import Compactions, build_compaction
from looseleaf.features.upkeep.daily_task.plan import PageParts, plan_selection
from looseleaf.values import replace

PAGE = "# M\n\n## A\n\n- one\n- two\n\n## B\n\n- three\n- four\n"
DAY = "daily/2026/04/17.md"
FACTS = ("- one", "- two", "- three", "- four")


class Scene(NamedTuple):
    """What is done before, and what is done under observation."""

    prepare: Callable[[Workspace], object]
    act: Callable[[Workspace], object]


def compactions_of(workspace: Workspace) -> Compactions:
    """Return the compactions of ada."""
    agent = workspace.agents.resolve("ada")
    return Compactions(workspace.settings.root, workspace.pages, workspace.history, agent.id)


def compact(workspace: Workspace, run: str = "run-1") -> None:
    """Archive section B."""
    compactions = compactions_of(workspace)
    page = workspace.pages.text(compactions.page)
    plan = plan_selection(PageParts(page), {0, 1, 2, 3})
    record = build_compaction(
        run, compactions.agent_id, plan, before=page, day_file=DAY, title="Archived from MEMORY.md"
    )
    assert compactions.commit(replace(record, time=workspace.clock()))


def undo(workspace: Workspace) -> None:
    """Undo the compaction."""
    compactions_of(workspace).undo("run-1", "library")


def do_nothing(workspace: Workspace) -> None:
    """Begin with the page."""


SCENES = {"compact": Scene(do_nothing, compact), "undo": Scene(compact, undo)}


def prepare(name: str, root: Path) -> None:
    """Make the workspace of a scene."""
    workspace = Workspace.create(root, agent="ada", journal=True)
    (root / "agents/ada/MEMORY.md").write_text(PAGE)
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
