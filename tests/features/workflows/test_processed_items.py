"""Processed items: each is taken by one job, on SQLite and PostgreSQL."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from looseleaf.features.workflows.sql_definitions import SqlProcessedItems
from looseleaf.stores.database.accounts import SqlAccounts
from tests.conftest import Clock


@pytest.fixture
def items(accounts: SqlAccounts, clock: Clock) -> SqlProcessedItems:
    """Return the items of a fresh database."""
    return SqlProcessedItems(accounts.database, clock=clock)


def test_an_item_is_taken_once(items: SqlProcessedItems) -> None:
    """A later job gets what no job has taken, in the order of the source."""
    assert items.claim(1, "in", ("a", "b", "c"), job_id=1, limit=2) == ("a", "b")
    assert items.claim(1, "in", ("z", "a", "b", "c"), job_id=2, limit=9) == ("z", "c")
    assert items.claim(1, "in", ("a", "b", "c", "z"), job_id=3, limit=9) == ()


def test_the_same_job_is_given_the_same_items(items: SqlProcessedItems) -> None:
    """A step that runs again after a crash goes on with its items, though new ones came."""
    first = items.claim(1, "in", ("a", "b", "c"), job_id=1, limit=2)
    assert items.claim(1, "in", ("new", "a", "b", "c"), job_id=1, limit=2) == first


def test_steps_and_flows_have_items_of_their_own(items: SqlProcessedItems) -> None:
    """Two flows may read the same feed."""
    for flow, step in ((1, "in"), (1, "other"), (2, "in")):
        assert items.claim(flow, step, ("a",), job_id=flow * 10, limit=1) == ("a",)


def test_a_failed_job_gives_its_items_back(items: SqlProcessedItems) -> None:
    """The next job takes them."""
    items.claim(1, "in", ("a", "b"), job_id=1, limit=5)
    assert items.release(1) == 2
    assert items.claim(1, "in", ("a", "b"), job_id=2, limit=5) == ("a", "b")
    assert items.release(9) == 0


def test_old_items_are_forgotten(items: SqlProcessedItems, clock: Clock) -> None:
    """Retention counts from the time at which an item was taken; a dry run forgets nothing."""
    items.claim(1, "in", ("a",), job_id=1, limit=5)
    clock.advance(days=31)
    items.claim(1, "in", ("b",), job_id=2, limit=5)
    before = clock() - 30 * 86_400
    assert items.prune(before=before, dry_run=True) == 1
    assert items.prune(before=before) == 1
    assert items.claim(1, "in", ("a", "b"), job_id=3, limit=5) == ("a",)


def test_an_item_that_a_source_still_offers_is_not_forgotten(
    items: SqlProcessedItems, clock: Clock
) -> None:
    """A feed may list the same item for a year; it would be published again otherwise."""
    items.claim(1, "in", ("a", "gone"), job_id=1, limit=5)
    for number in range(4):
        clock.advance(days=20)
        assert items.claim(1, "in", ("a",), job_id=2 + number, limit=5) == ()
    assert items.prune(before=clock() - 30 * 86_400) == 1
    assert items.claim(1, "in", ("a", "gone"), job_id=9, limit=5) == ("gone",)


def test_many_keys_are_looked_up_in_parts(items: SqlProcessedItems) -> None:
    """A large document is no larger statement."""
    keys = tuple(f"k{number}" for number in range(1200))
    assert items.claim(1, "in", keys, job_id=1, limit=1100) == keys[:1100]
    assert items.claim(1, "in", keys, job_id=2, limit=500) == keys[1100:]


def test_jobs_at_the_same_time_share_no_item(items: SqlProcessedItems) -> None:
    """Eight jobs of one flow: every item goes to exactly one."""
    keys = tuple(f"k{number}" for number in range(40))

    def claim(job_id: int) -> tuple[str, ...]:
        return items.claim(1, "in", keys, job_id=job_id, limit=10)

    with ThreadPoolExecutor(8) as pool:
        claims = [key for part in pool.map(claim, range(1, 9)) for key in part]
    assert len(claims) == len(set(claims))
    assert set(claims) == set(keys)
