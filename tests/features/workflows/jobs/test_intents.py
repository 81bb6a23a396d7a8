"""Intents are noted under growing numbers."""

from __future__ import annotations

from looseleaf.features.workflows.jobs.sql_queue import SqlJobStore
from looseleaf.features.workflows.step import Intent


def test_the_newest_intent_is_found(store: SqlJobStore) -> None:
    """By key and page; the same hash gets a number of its own."""
    assert store.intents.find("job-1/step-a", "page") is None
    store.intents.note("job-1/step-a", "page", "hash")
    assert store.intents.find("job-1/step-a", "page") == Intent("hash", 1)
    store.intents.note("job-1/step-a", "page", "hash")
    assert store.intents.find("job-1/step-a", "page") == Intent("hash", 2)
    assert store.intents.find("job-1/step-a", "another") is None
