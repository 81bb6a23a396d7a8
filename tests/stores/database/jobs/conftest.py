"""The jobs of a fresh database, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from looseleaf.stores.database.accounts import SqlAccounts
from looseleaf.stores.database.database import Database
from looseleaf.stores.database.jobs.job_store import SqlJobStore
from tests.conftest import Clock


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
