"""The definitions of a fresh database, on SQLite and on PostgreSQL."""

from __future__ import annotations

import pytest

from looseleaf.features.workflows.sql_definitions import SqlDefinitions
from looseleaf.stores.database.accounts import SqlAccounts
from tests.conftest import Clock


@pytest.fixture
def definitions(accounts: SqlAccounts, clock: Clock) -> SqlDefinitions:
    """Return the definitions of a fresh database."""
    return SqlDefinitions(accounts.database, clock=clock)
