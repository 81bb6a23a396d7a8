"""The jobs of a fresh database, on SQLite and on PostgreSQL."""

from __future__ import annotations

import pytest

from looseleaf.stores.database.accounts import SqlAccounts
from looseleaf.stores.database.jobs.job_store import SqlJobStore
from tests.conftest import Clock


@pytest.fixture
def store(accounts: SqlAccounts, clock: Clock) -> SqlJobStore:
    """Give the tables of jobs of a fresh database."""
    return SqlJobStore(accounts.database, clock=clock)
