"""A workspace with the example plugin, and modules made up for one test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from looseleaf import Workspace
from tests.conftest import Clock

EXAMPLE = Path(__file__).parent / "example"

Open = Callable[..., Workspace]
Write = Callable[[str, str], None]


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a folder in which Python looks for modules, and forget them afterwards."""
    folder = tmp_path / "modules"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    folders = (str(folder), str(EXAMPLE))
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(folders):
            del sys.modules[name]


@pytest.fixture
def write(modules: Path) -> Write:
    """Write a plugin as one module."""

    def write_plugin(name: str, code: str) -> None:
        (modules / f"{name}.py").write_text(f"from looseleaf import hookimpl\n\n{code}")

    return write_plugin


@pytest.fixture
def opened(tmp_path: Path, clock: Clock) -> Open:
    """Open a workspace with these lines in its settings."""

    def open_with(*lines: str) -> Workspace:
        root = tmp_path / "example_workspace"
        root.mkdir(exist_ok=True)
        (root / "looseleaf.toml").write_text("\n".join(['name = "House"', *lines]))
        return Workspace.create(root, agent="editor", clock=clock)

    return open_with


@pytest.fixture
def example(modules: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Put the example plugin where Python finds it, as it lies in its own package."""
    assert modules.exists()
    monkeypatch.syspath_prepend(str(EXAMPLE))
    return import_module("looseleaf_example")


@pytest.fixture
def example_workspace(example: ModuleType, opened: Open) -> Workspace:
    """Open a workspace with the example plugin."""
    return opened(f'plugins = ["{example.__name__}"]')
