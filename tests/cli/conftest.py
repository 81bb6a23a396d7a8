"""The workspace that commands are typed in."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def root(command_root: Path) -> Path:
    """Return the fresh workspace in whose folder the test stands."""
    return command_root
