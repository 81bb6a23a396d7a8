"""Failures that pass by themselves are told from others, and waited for longer each time."""

from __future__ import annotations

import pytest

from looseleaf.errors import Invalid, Locked, LooseleafError, Unavailable
from looseleaf.errors.operations import ModelFailed
from looseleaf.features.workflows.jobs.run import compute_wait_seconds, describe_error, is_transient


@pytest.mark.parametrize(
    ("error", "is_passing"),
    [
        (Locked("MEMORY.md", 10.0), True),
        (ModelFailed("openai:x", "429 Too Many Requests"), True),
        (ModelFailed("openai:x", "the provider cannot be reached"), True),
        (Unavailable("The server", "it is overloaded"), True),
        (Unavailable("The server", "503"), True),
        (ModelFailed("openai:x", "the provider does not accept the key"), False),
        (Invalid("timeout must be a number"), False),
        (ValueError("timeout"), False),
    ],
)
def test_some_failures_pass_by_themselves(error: Exception, is_passing: bool) -> None:  # noqa: FBT001
    """Only what was not available, and for a reason that ends."""
    assert is_transient(error) is is_passing


@pytest.mark.parametrize(
    ("reason", "attempts", "seconds"),
    [
        ("503", 0, 60.0),
        ("503", 1, 120.0),
        ("503", 2, None),
        ("cannot connect", 0, 15.0),
        ("cannot connect", 1, 30.0),
        ("429, retry after 300", 0, 300.0),
        ("429, Retry-After: 99999", 0, 3600.0),
    ],
)
def test_waits_grow_to_a_limit(reason: str, attempts: int, seconds: float | None) -> None:
    """Three attempts; the server's own wish counts."""
    assert compute_wait_seconds(reason, attempts) == seconds


def test_an_error_is_described_in_a_line() -> None:
    """Ours by its sentence, others with their class."""
    assert describe_error(Invalid("It is wrong.\nmore")) == "It is wrong."
    assert describe_error(KeyError("a")) == "KeyError: 'a'"
    assert describe_error(ValueError()) == "ValueError"
    assert isinstance(Invalid("x"), LooseleafError)
