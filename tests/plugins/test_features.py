"""The built-in features register themselves as plugins do, and load only when a hook asks them."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.features.workflows.parts import system_tasks_of, task_schedules_of
from looseleaf.plugins.defaults import Defaults
from looseleaf.plugins.features import FEATURES
from looseleaf.plugins.hooks import MARK
from looseleaf.plugins.loader import SPECS
from tests.test_architecture import FEATURES as FEATURE_MODULES
from tests.test_architecture import place_import


def list_hooks(owner: object) -> set[str]:
    """Return the names of the hooks that a plugin implements."""
    return {name for name, function in vars(owner).items() if hasattr(function, MARK)}


@pytest.mark.parametrize("name", FEATURES)
def test_a_feature_implements_hooks_that_our_plugin_passes_on(name: str) -> None:
    """Its plugin module has hooks alone, and each of them is called."""
    hooks = list_hooks(import_module(name))
    assert "register_operations" in hooks
    assert hooks <= list_hooks(Defaults) & set(SPECS)


def test_what_features_register_belongs_to_looseleaf(workspace: Workspace) -> None:
    """Operations, tasks and schedules of features have the owner of the core's."""
    owners = {operation.name: operation.owner for operation in workspace.operations().all()}
    for noun in ("send-message", "list-flows", "lint-memory", "export-bundle", "run-import"):
        [name] = [name for name in owners if name.endswith(f"/{noun}")]
        assert owners[name] == "looseleaf"
    tasks = {task.type for task in system_tasks_of(workspace).all()}
    assert {"daily_memory_generation", "git_commit", "backup"} <= tasks
    assert {schedule.name for schedule in task_schedules_of(workspace).all()} >= {
        "backup",
        "retention",
    }


def test_reading_and_writing_pages_loads_no_feature(tmp_path: Path) -> None:
    """Neither the opening of a workspace nor a change of a page asks a feature."""
    Workspace.create(tmp_path / "memory", agent="ada").close()
    code = (
        "import sys; from looseleaf import Workspace; from looseleaf.operations import memory; "
        "workspace = Workspace.open(sys.argv[1]); "
        "memory.update_memory(workspace.context, 'Facts', '- one', mode='append'); "
        "memory.read_memory(workspace.context, section='Facts'); "
        "print(*sorted(name for name in sys.modules if name.startswith('looseleaf')))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "memory")]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert "looseleaf.operations.memory" in loaded
    assert "looseleaf.plugins.features" not in loaded
    assert not {name for name in loaded if place_import(f"{name}.") in FEATURE_MODULES}
