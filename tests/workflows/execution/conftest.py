"""A worker harness: a workspace with steps of the tests' own, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workflows.execution.house import WorkerHarness


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[WorkerHarness]:
    """Yield a harness on SQLite."""
    fresh_harness = WorkerHarness(tmp_path / "root")
    yield fresh_harness
    fresh_harness.close()


@pytest.fixture
def any_harness(tmp_path: Path, database_url: str) -> Iterator[WorkerHarness]:
    """Yield a harness on each database in turn."""
    fresh_harness = WorkerHarness(tmp_path / "root", database_url)
    yield fresh_harness
    fresh_harness.close()
