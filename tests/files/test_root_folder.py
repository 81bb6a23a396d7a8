"""A workspace that is gone is not available, which is never the same as empty."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.schemas import build_input_schema
from looseleaf.errors import LooseleafError, WorkspaceUnavailable
from looseleaf.files.root_folder import IDENTITY, RootFolder, read_identity
from looseleaf.memory.store import Found
from tests.conftest import Clock
from tests.operations.test_matrix import SAMPLES, SPECIAL
from tests.stores.mounts import mount_disk

Absence = Callable[[Path], Callable[[], object]]


def moved_away(root: Path) -> Callable[[], object]:
    """Remove the folder; return what brings it back."""
    away = root.with_name("away")
    root.rename(away)
    return lambda: away.rename(root)


def unmounted(root: Path) -> Callable[[], object]:
    """Leave an empty folder, as a disk does that is unmounted."""
    away = root.with_name("away")
    root.rename(away)
    root.mkdir()

    def mount() -> None:
        root.rmdir()  # which fails if anything was made in it
        away.rename(root)

    return mount


def emptied(root: Path) -> Callable[[], object]:
    """Empty the folder."""
    away = root.with_name("away")
    away.mkdir()
    for name in os.listdir(root):
        (root / name).rename(away / name)

    def fill() -> None:
        assert os.listdir(root) == []
        for name in os.listdir(away):
            (away / name).rename(root / name)

    return fill


def replaced(root: Path) -> Callable[[], object]:
    """Put another workspace in its place, which looks the same."""
    away, other = root.with_name("away"), root.with_name("other")
    Workspace.create(other, agent="ada")
    root.rename(away)
    other.rename(root)

    def put_back() -> None:
        shutil.rmtree(root)
        away.rename(root)

    return put_back


ABSENCES = (moved_away, unmounted, emptied, replaced)


# What an argument can be, if the matrix of permissions has no sample of it.
BY_TYPE: dict[str | None, Any] = {"object": {}, "array": [], "integer": 1, "boolean": True}


def attempts() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every operation of the catalog, with arguments that it takes."""
    for name, operation in CATALOG.items():
        made = build_input_schema(operation)
        given = {
            item: SAMPLES.get(item, BY_TYPE.get(made["properties"][item].get("type"), "ada"))
            for item in made["required"]
        }
        enum = made["properties"].get("mode", {}).get("enum")
        yield name, given | SPECIAL.get(name, {}) | ({"mode": enum[0]} if enum else {})


@pytest.mark.parametrize("absence", ABSENCES)
def test_no_operation_takes_a_missing_workspace_for_an_empty_one(
    workspace: Workspace, absence: Absence
) -> None:
    """Each says the same and makes nothing; and all works again without a restart."""
    context = workspace.context
    workspace.accounts()
    scope = workspace.agents.resolve("ada").shelf.page("MEMORY.md")
    text = workspace.pages.text(scope)
    invoke(context, "looseleaf/list-agents")
    bring_back = absence(Path(workspace.root))
    for name, given in attempts():
        workspace.root_folder._check_time = float("-inf")  # a moment has passed
        with pytest.raises(WorkspaceUnavailable) as caught:
            invoke(context, name, given)
        assert caught.value.code == "workspace_unavailable", name
    bring_back()
    assert [item["slug"] for item in invoke(context, "looseleaf/list-agents")] == ["ada"]
    assert workspace.pages.text(scope) == text


@pytest.mark.parametrize("absence", ABSENCES)
def test_nothing_below_the_operations_does_either(workspace: Workspace, absence: Absence) -> None:
    """Pages, history, agents: what is not found is asked about at once, not after a moment."""
    shelf = workspace.agents.resolve("ada").shelf
    scope, missing = shelf.page("MEMORY.md"), shelf.page("none.md")
    bring_back = absence(Path(workspace.root))
    calls: list[Callable[[], object]] = [
        lambda: workspace.pages.read(missing),
        lambda: workspace.pages.append(scope, "x", change=workspace.context.change("x")),
        lambda: workspace.store.list_subtree(shelf, ""),
        lambda: workspace.history.revisions(missing),
        lambda: workspace.agents.resolve("bob"),
        lambda: workspace.agents.create("bob"),
        lambda: workspace.agents.rename("ada", "eve"),
        lambda: workspace.agents.remove("ada"),
        workspace.start,
    ]
    if absence is not replaced:  # what stands there is read, though not written
        calls += [lambda: workspace.pages.read(scope), workspace.agents.records]
    for call in calls:
        with pytest.raises(WorkspaceUnavailable):
            call()
    bring_back()
    assert isinstance(workspace.pages.read(scope), Found)


def test_a_disk_that_is_unmounted_and_mounted_again(tmp_path: Path, clock: Clock) -> None:
    """The file system tells another workspace's disk, and the id tells the right one."""
    with mount_disk(tmp_path / "disk") as disk:
        workspace = Workspace.create(disk, agent="ada", clock=clock)
        scope = workspace.agents.resolve("ada").shelf.page("MEMORY.md")
        text = workspace.pages.text(scope)
        copy = tmp_path / "copy"
        shutil.copytree(disk, copy)
        workspace.close()
        # A second disk on top of the first: the path is the same, the device is not.
        with mount_disk(disk):
            with pytest.raises(WorkspaceUnavailable, match=r"may not be mounted\.$"):
                workspace.pages.read(scope)
            assert os.listdir(disk) == []
            shutil.copytree(copy, disk, dirs_exist_ok=True)
            assert workspace.pages.text(scope) == text
            workspace.close()  # a folder that is held keeps a disk from being unmounted
        assert workspace.pages.text(scope) == text
        workspace.close()


def test_agents_are_not_numbered_anew_where_their_folder_is_gone(workspace: Workspace) -> None:
    """Not by a process that comes later, and not by `init`."""
    agents = Path(workspace.root, "agents")
    agents.rename(Path(workspace.root, "elsewhere"))
    for create_folder in (False, True):
        if create_folder:
            agents.mkdir()
        for call in (
            lambda: Workspace.create(workspace.root),
            lambda: Workspace.open(workspace.root).agents.create("ada"),
            Workspace.open(workspace.root).agents.records,
        ):
            with pytest.raises(WorkspaceUnavailable, match="agents/ is missing"):
                call()
    agents.rmdir()
    Path(workspace.root, "elsewhere").rename(agents)
    assert [record.slug for record in Workspace.create(workspace.root).agents.records()] == ["ada"]


def test_a_workspace_from_before_ids_is_opened_as_it_is(workspace: Workspace) -> None:
    """It is known by its files until it gets an id, which the next change of its agents gives."""
    root = Path(workspace.root)
    (root / IDENTITY).unlink()
    (root / "agents/register.json").unlink()
    (root / ".looseleaf/agents/next").write_text("7\n")
    opened = Workspace.open(root)
    assert opened.agents.resolve("ada").id == 1
    assert not (root / IDENTITY).exists()
    bring_back = unmounted(root)
    with pytest.raises(WorkspaceUnavailable):
        opened.agents.records()
    bring_back()
    assert opened.agents.create("bob").id == 7
    assert len(read_identity(str(root))) == 32


def test_a_file_in_the_place_of_the_folder_is_no_workspace(tmp_path: Path) -> None:
    """Nor is a folder that was never there."""
    folder = RootFolder(str(tmp_path / "root"))
    for is_file in (False, True):
        if is_file:
            (tmp_path / "root").touch()
        with pytest.raises(WorkspaceUnavailable):
            folder.require()
    (tmp_path / "root").unlink()
    (tmp_path / "root").mkdir()
    assert folder.require() == tmp_path.stat().st_dev


def test_the_command_line_has_an_exit_code_for_it(workspace: Workspace) -> None:
    """As for whatever cannot be reached now: 6."""
    Path(workspace.root, "agents").rename(Path(workspace.root, "elsewhere"))
    command = [
        sys.executable,
        "-m",
        "looseleaf",
        "--root",
        workspace.root,
        "agents",
        "list",
        "--format",
        "json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 6
    assert '"workspace_unavailable"' in done.stderr
    assert issubclass(WorkspaceUnavailable, LooseleafError)
