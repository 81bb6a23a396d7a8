"""Whatever stops a backup or a restore, nothing that looks whole is less than that."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.errors.features import FolderTaken
from looseleaf.features.backup.archive import open_archive
from looseleaf.features.backup.creation import list_backups
from tests.conftest import FULL
from tests.features.backup.copies import tree_of
from tests.features.backup.scenes import SCENES, perform, prepare
from tests.stores.tracing import CHANGING, Call, Tracer, copy_of

FAULTS = ("EIO", pytest.param("ENOSPC", marks=pytest.mark.slow))
FIRST = 3  # calls of one kind that are all tried; of the others, some


@pytest.fixture(scope="module")
def tracer() -> Iterator[Tracer]:
    """Yield a process that acts out scenes under strace."""
    with Tracer("tests.features.backup.scenes") as one:
        yield one


def changing_calls(tracer: Tracer, name: str, folder: Path) -> list[Call]:
    """Act out a scene whole, and return the calls before which it is stopped."""
    prepare(name, folder / "root")
    whole = copy_of(folder / "root", folder / "whole")
    calls = [call for call in tracer.calls(name, whole, folder / "trace") if call.name in CHANGING]
    check_state(name, whole, must_exist=True)
    return [call for call in calls if FULL or call.number <= FIRST or call.number % 24 == 0]


def check_state(name: str, root: Path, *, must_exist: bool = False) -> None:
    """Check that the backup, or the restored folder, is whole or not there."""
    if name.startswith("backup"):
        for backup in list_backups(str(root / "backups")):
            with open_archive(backup.path) as reader:
                assert reader.read_all(lambda _header, _chunks: None).files
        names = [path.name for path in (root / "backups").glob("*")] if must_exist else []
        assert all(not name.startswith(".") for name in names)
        assert len(names) == must_exist
        return
    if must_exist or (root / "new").exists():
        assert tree_of(root / "new") == tree_of(root / "workspace")
        assert read_logins(root / "new") == read_logins(root / "workspace")
    if must_exist:
        assert sorted(path.name for path in root.iterdir()) == ["backups", "new", "workspace"]


def read_logins(root: Path) -> list[str]:
    """Return the users of a workspace; its database is opened as it lies there."""
    with closing(Workspace.open(root)) as workspace:
        return [user.login for user in workspace.accounts().users.list()]


def check_repeated(name: str, root: Path) -> None:
    """Check that the same call again leads to where the call would have led."""
    if name.startswith("backup"):
        for backup in list_backups(str(root / "backups")):
            Path(backup.path).unlink()
        perform(name, root)
    else:
        is_done = (root / "new").exists()
        try:
            perform(name, root)
        except FolderTaken:
            assert is_done
    check_state(name, root, must_exist=True)


@pytest.mark.parametrize("name", SCENES)
def test_a_kill_at_any_call_leaves_all_or_nothing(
    tracer: Tracer, name: str, tmp_path: Path
) -> None:
    """And the next attempt clears up; the workspace itself is never touched."""
    calls = changing_calls(tracer, name, tmp_path)
    before = tree_of(tmp_path / "root/workspace")
    for call in calls:
        root = copy_of(tmp_path / "root", tmp_path / f"{call.name}-{call.number}")
        ending = tracer.act(name, root, f"{call.name}:signal=KILL:when={call.number}")
        try:
            assert ending.killed
            check_state(name, root)
            check_repeated(name, root)
            assert tree_of(root / "workspace") == before
        except BaseException as error:
            error.add_note(f"killed before {call}")
            raise
        shutil.rmtree(root.parent)
    print(f"{len(calls)} kill points")  # noqa: T201 - a figure that -rP shows


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", SCENES)
def test_a_call_that_fails_is_no_success(
    tracer: Tracer, name: str, fault: str, tmp_path: Path
) -> None:
    """The error is one of ours, and nothing is left behind that was not there."""
    for call in changing_calls(tracer, name, tmp_path):
        if call.name == "unlinkat":
            continue  # taking away what is no longer needed
        root = copy_of(tmp_path / "root", tmp_path / f"{call.name}-{call.number}")
        ending = tracer.act(name, root, f"{call.name}:error={fault}:when={call.number}")
        try:
            assert not ending.killed
            assert not ending.error.startswith("raw "), ending
            check_state(name, root)
            if ending.error:
                before = 0 if name.startswith("backup") else 1
                assert len(list((root / "backups").glob("*"))) == before
                assert not (root / "new").exists()
        except BaseException as error:
            error.add_note(f"{fault} at {call}")
            raise
        shutil.rmtree(root.parent)


def test_a_file_that_cannot_be_read_stops_a_backup(tracer: Tracer, tmp_path: Path) -> None:
    """Whichever file or folder it is: a backup without it would look like one with it."""
    prepare("backup", tmp_path / "root")
    whole = copy_of(tmp_path / "root", tmp_path / "whole")
    calls = tracer.calls("backup", whole, tmp_path / "trace")
    (expected,) = (backup.size for backup in list_backups(str(whole / "backups")))
    stopped = 0
    for call in calls:
        if call.name != "openat" or not (FULL or call.number % 12 == 0):
            continue
        root = copy_of(tmp_path / "root", tmp_path / f"openat-{call.number}")
        ending = tracer.act("backup", root, f"openat:error=EACCES:when={call.number}")
        assert not ending.error.startswith("raw "), (call, ending)
        stopped += bool(ending.error)
        sizes = [backup.size for backup in list_backups(str(root / "backups"))]
        assert sizes == ([] if ending.error else [expected]), (call, ending)
        shutil.rmtree(root.parent)
    assert stopped
