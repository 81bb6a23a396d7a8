"""The jobs of a fresh database, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from looseleaf.features.workflows.jobs.sql_queue import SqlJobStore
from looseleaf.stores.database.accounts import SqlAccounts
from looseleaf.stores.database.database import Database
from tests.conftest import Clock
from tests.features.workflows.jobs.house import WorkerHarness


@pytest.fixture
def store(accounts: SqlAccounts, clock: Clock) -> SqlJobStore:
    """Return the tables of jobs of a fresh database."""
    return SqlJobStore(accounts.database, clock=clock)


@pytest.fixture
def postgres_database(postgres_url: str, tmp_path: Path) -> Iterator[Database]:
    """Open a fresh database on PostgreSQL."""
    database = Database(postgres_url, str(tmp_path))
    yield database
    database.close()


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
