"""Creating a workspace's folder, and opening one that is there to its group."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from looseleaf import Workspace
from looseleaf.catalog.page_checks import Finding
from looseleaf.operations.doctor import check_workspace
from looseleaf.stores.disk.create import create_folder


def look(root: Path) -> list[Finding]:
    """Ask the doctor about permissions."""
    with Workspace.open(root) as workspace:
        found = check_workspace(workspace.context)
    return [item for item in found if item.check == "permissions"]


def test_a_workspace_is_opened_to_its_group_later(tmp_path: Path) -> None:
    """The setting alone opens no file that is there: the doctor says so, and init does it."""
    root = tmp_path / "memory"
    Workspace.create(root, agent="ada").close()
    (root / "elsewhere.md").symlink_to("/etc/hosts")
    mode = os.stat("/etc/hosts").st_mode
    settings = root / "looseleaf.toml"
    settings.write_text(settings.read_text() + "\ngroup_writable = true\n")
    assert ["the group cannot use" in item.detail for item in look(root)] == [True]
    create_folder(str(root), "")
    assert [item.status for item in look(root)] == ["ok"]
    assert stat.S_IMODE((root / "agents" / "ada" / "MEMORY.md").stat().st_mode) == 0o660
    assert stat.S_IMODE((root / "agents").stat().st_mode) == 0o2770
    assert os.stat("/etc/hosts").st_mode == mode
