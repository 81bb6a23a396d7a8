"""A home of its own, where no program has ever been configured."""

from __future__ import annotations

from pathlib import Path

import pytest

VARIABLES = (
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "XDG_CONFIG_HOME",
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home of its own, where no program has ever been configured."""
    folder = tmp_path / "home"
    folder.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(folder))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return folder
