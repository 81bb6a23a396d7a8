"""Sessions of one credential are bounded; the one that was used longest ago ends for a new one."""

from __future__ import annotations

from looseleaf.mcp.http import SessionLimit


def test_the_session_that_was_used_longest_ago_ends() -> None:
    """Using one makes it the newest; those of others do not count."""
    limit = SessionLimit(2)
    assert limit.use("ada", "a") == []
    assert limit.use("ada", "b") == []
    assert limit.use("bob", "c") == []
    assert limit.use("ada", "a") == []
    assert limit.use("ada", "d") == ["b"]
    assert limit.use("ada", "e") == ["a"]


def test_a_session_that_ended_counts_no_more() -> None:
    """Even if it was never known."""
    limit = SessionLimit(1)
    limit.use("ada", "a")
    limit.end("ada", "a")
    limit.end("ada", "a")
    limit.end("nobody", "x")
    assert limit.use("ada", "b") == []
