"""A house: a workspace with steps of the tests' own, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workflows.execution.house import House


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """Yield a house on SQLite."""
    fresh_house = House(tmp_path / "root")
    yield fresh_house
    fresh_house.close()


@pytest.fixture
def any_house(tmp_path: Path, database_url: str) -> Iterator[House]:
    """Yield a house on each database in turn."""
    fresh_house = House(tmp_path / "root", database_url)
    yield fresh_house
    fresh_house.close()
