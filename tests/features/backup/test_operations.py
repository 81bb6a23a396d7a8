"""Backups as operations: made, listed with their age, verified, and only if it is allowed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.access.principals import Principal
from looseleaf.errors import Invalid, InvalidArgument
from looseleaf.errors.features import BackupMissing
from looseleaf.features.backup.operations import (
    check_outside,
    create_backup,
    find_backup_folder,
    list_backups,
    verify_backup,
)
from looseleaf.values import replace
from tests.conftest import Clock


@pytest.fixture
def prepared(root: Path, clock: Clock) -> Workspace:
    """Return a workspace whose settings name a folder of backups beside it."""
    (root / "looseleaf.toml").write_text('backup_folder = "../backups"\nname = "The shop"\n')
    return Workspace.create(root, agent="ada", clock=clock)


def test_a_backup_is_made_listed_and_verified(prepared: Workspace, clock: Clock) -> None:
    """In the folder of the settings, with its age."""
    context = prepared.context
    made = create_backup(context)
    assert os.path.dirname(made.path) == str(Path(prepared.root).parent / "backups")
    assert (made.database, made.left_out) == ("none", ())
    clock.advance(days=3)
    newer = create_backup(context)
    clock.advance(seconds=60)
    listed = list_backups(context)
    assert [(item.name, item.age) for item in listed] == [(newer.name, 60), (made.name, 259_260)]
    assert all(item.is_own and item.is_whole for item in listed)
    assert listed[0].workspace_name == "The shop"
    verdict = verify_backup(context, made.name)
    assert (verdict.fault, verdict.files, verdict.created) == ("", made.files, made.created)


def test_a_damaged_backup_has_a_verdict(prepared: Workspace) -> None:
    """It is no error: reading it is what was asked for."""
    made = create_backup(prepared.context)
    raw = bytearray(Path(made.path).read_bytes())
    raw[700] ^= 1
    Path(made.path).write_bytes(raw)
    verdict = verify_backup(prepared.context, made.name)
    assert verdict.fault
    assert verdict.files == 0


def test_progress_is_shown_in_a_few_steps(prepared: Workspace) -> None:
    """However many agents there are, and up to the end."""
    for number in range(30):
        prepared.agents.create(f"agent-{number}")
    steps: list[tuple[str, int, int]] = []
    prepared.show_progress = lambda *step: steps.append(step)
    made = create_backup(prepared.context)
    assert 2 < len(steps) <= 22
    assert steps[-1][1] == steps[-1][2]
    steps.clear()
    verify_backup(prepared.context, made.name)
    assert {step[0] for step in steps} == {"Verifying, in KB"}
    assert len(steps) <= 21


def test_the_operator_alone_chooses_a_folder(prepared: Workspace, tmp_path: Path) -> None:
    """A request over the network reaches the folder of the settings and no other."""
    eve = Principal(
        kind="session", user_id=2, name="eve", capabilities=frozenset({"manage_options"})
    )
    context = replace(prepared.context, principal=eve)
    made = create_backup(context)
    for call in (
        lambda: create_backup(context, folder=str(tmp_path)),
        lambda: list_backups(context, folder=str(tmp_path)),
        lambda: verify_backup(context, made.name, folder=str(tmp_path)),
    ):
        with pytest.raises(InvalidArgument, match="backup_folder"):
            call()
    assert create_backup(prepared.context, folder=str(tmp_path / "chosen")).size == made.size


@pytest.mark.parametrize("name", ["../looseleaf.toml", "/etc/passwd", ".hidden", "a\0b"])
def test_a_name_is_that_of_a_file_in_the_folder(prepared: Workspace, name: str) -> None:
    """Nothing else can be read by it."""
    with pytest.raises(InvalidArgument, match="name"):
        verify_backup(prepared.context, name)


def test_a_missing_backup_is_named(prepared: Workspace) -> None:
    """With the folder that was looked at."""
    with pytest.raises(BackupMissing, match=r"gone\.tar.*backups"):
        verify_backup(prepared.context, "gone.tar")


def test_without_a_folder_there_is_advice(workspace: Workspace) -> None:
    """The setting is off by default."""
    assert find_backup_folder(workspace.settings) == ""
    with pytest.raises(Invalid, match=r"looseleaf settings set backup_folder FOLDER"):
        create_backup(workspace.context)
    assert list_backups(workspace.context) == []


@pytest.mark.parametrize("inner", ["", "agents", "agents/ada", ".looseleaf/backups", "pipeline-1"])
def test_a_backup_is_no_part_of_the_next(workspace: Workspace, inner: str) -> None:
    """A folder inside what is copied is refused; another one in the root is not."""
    with pytest.raises(InvalidArgument, match="part of the workspace"):
        create_backup(workspace.context, folder=os.path.join(workspace.root, inner))
    check_outside(workspace.root, os.path.join(workspace.root, "backups"))
