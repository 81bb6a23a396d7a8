"""A workspace lets go of what it has opened, and opens it again when it is used again."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from looseleaf import Found, Workspace
from looseleaf.features.chat.session import chats_of
from looseleaf.memory.search.substring import Query, search
from looseleaf.models.by_name import EchoModel
from looseleaf.stores.disk import shelf_folders


def open_files() -> int:
    gc.collect()  # workspaces of other tests that nobody closed
    return len(os.listdir("/dev/fd"))


def use(workspace: Workspace) -> object:
    """Read a page, search, ask the database and open a model; return what must not stay open."""
    shelf = workspace.agents.resolve("ada").shelf
    workspace.store._cache.pages.clear()
    assert isinstance(workspace.pages.read(shelf.page("MEMORY.md")), Found)
    search(workspace.store, shelf, Query(text="memory"), index=workspace.index())
    assert workspace.accounts().users.list()
    assert chats_of(workspace).sessions is not None
    assert workspace.authentication() is workspace.authentication()
    assert workspace.models().open("echo").name == "echo"
    workspace.store._cache.pages.clear()
    assert isinstance(workspace.pages.read(shelf.page("SOUL.md")), Found)
    return workspace.accounts()


def test_a_closed_workspace_has_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders, index and database are closed, however often; and it goes on when it is used."""
    monkeypatch.setattr(shelf_folders, "_reads", shelf_folders._MANY_READS)
    monkeypatch.setattr(shelf_folders, "_openers", shelf_folders._load_openers())
    workspace = Workspace.create(tmp_path / "memory", agent="ada")
    workspace.close()
    before = open_files()
    for _ in range(2):
        kept = use(workspace)
        assert open_files() > before
        workspace.close()
        workspace.close()
        assert open_files() == before
        del kept


def test_a_block_closes_its_workspace(tmp_path: Path) -> None:
    """As files do."""
    Workspace.create(tmp_path / "memory", agent="ada").close()
    before = open_files()
    with Workspace.open(tmp_path / "memory") as workspace:
        kept = use(workspace)
    assert open_files() == before
    del kept


def test_providers_of_ones_own_survive_a_close(workspace: Workspace) -> None:
    """What was registered is not what was open."""
    workspace.models().register("mine", EchoModel)
    workspace.close()
    assert workspace.models().open("mine:model").name == "mine:model"
