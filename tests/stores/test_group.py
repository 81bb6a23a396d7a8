"""`group_writable`: two users of one group share a workspace, and nobody else gets in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.operations.doctor import check_workspace

DRIVER = Path(__file__).parent / "drivers" / "users.py"
GROUP, FIRST, SECOND, STRANGER = 54_320, 54_321, 54_322, 54_323


@pytest.fixture
def root() -> Iterator[Path]:
    """Make a shared folder of the group as an administrator does; pytest's are closed to others."""
    if os.geteuid() != 0:
        pytest.skip("acting as two users takes root")
    folder = Path(tempfile.mkdtemp(prefix="looseleaf-group-"))
    folder.chmod(0o755)
    root = folder / "memory"
    root.mkdir()
    (root / "looseleaf.toml").write_text("group_writable = true\n")
    for path, mode in ((root, 0o2770), (root / "looseleaf.toml", 0o660)):
        os.chown(path, FIRST, GROUP)
        path.chmod(mode)
    yield root
    shutil.rmtree(folder)


def test_two_users_of_a_group_share_a_workspace(root: Path) -> None:
    """By turns, each changes what the other has made: pages, agents, the database, the index."""
    names = ("first", "second", "third", "fourth")
    turns = [(FIRST, GROUP, "begin", "")]
    turns += [((FIRST, SECOND)[place % 2], GROUP, "work", name) for place, name in enumerate(names)]
    turns += [(SECOND, GROUP, "look", ""), (STRANGER, 0, "look", "")]
    done = subprocess.run(
        [sys.executable, str(DRIVER), str(root)],
        input="".join(json.dumps(turn) + "\n" for turn in turns),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    endings = done.stdout.split()
    assert endings[:-1] == ["0"] * (len(turns) - 1), done.stderr
    assert endings[-1] != "0", "a stranger got in"
    with Workspace.open(root) as workspace:
        ada = workspace.agents.resolve("ada")
        lines = workspace.pages.text(ada.shelf.page("MEMORY.md"))
        assert all(f"- {name} {number}" in lines for name in names for number in range(3))
        assert ada.config == {"tone": "fourth"}
        assert len(workspace.history.revisions(ada.shelf.page("shared.md"))) == 4
        found = [item for item in check_workspace(workspace.context) if item.check == "permissions"]
        assert not [item for item in found if "others may use" in item.detail]
    for path in [root, *root.rglob("*")]:
        status = path.stat()
        assert status.st_gid == GROUP, path
        assert status.st_mode & 0o777 == (0o770 if path.is_dir() else 0o660), path
