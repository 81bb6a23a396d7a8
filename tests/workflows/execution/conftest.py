"""A house: a workspace with steps of the tests' own, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workflows.execution.house import House


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """Give a house on SQLite."""
    opened = House(tmp_path / "root")
    yield opened
    opened.close()


@pytest.fixture
def any_house(tmp_path: Path, database_url: str) -> Iterator[House]:
    """Give a house on each database in turn."""
    opened = House(tmp_path / "root", database_url)
    yield opened
    opened.close()
