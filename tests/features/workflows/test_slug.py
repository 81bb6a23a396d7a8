"""Slugs: made from any name, unique among siblings, and never mistaken for an id."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.errors.features import InvalidWorkflow
from looseleaf.features.workflows.definitions import MAX_SLUG, check_slug, make_slug


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("WooCommerce Daily Ingest!", "woocommerce-daily-ingest"),
        ("!!!", "flow"),
        ("", "flow"),
        ("音楽ニュース", "flow"),
        ("Über Müller & Söhne", "uber-muller-sohne"),
        ("2026", "flow-2026"),
        ("a" * 100, "a" * MAX_SLUG),
    ],
)
def test_a_name_becomes_a_slug(name: str, slug: str) -> None:
    """Lower case, runs of anything else a hyphen, the noun if nothing is left."""
    assert make_slug(name, fallback="flow") == slug


def test_a_sibling_with_the_same_slug_adds_a_number() -> None:
    """The next free one, even if the name is as long as a slug may be."""
    taken = ["daily-ingest", "daily-ingest-2"]
    assert make_slug("Daily ingest", fallback="flow", used_slugs=taken) == "daily-ingest-3"
    assert make_slug("b" * 70, fallback="flow", used_slugs=["b" * 64]) == "b" * 62 + "-2"


@given(st.text(max_size=120), st.sets(st.sampled_from(["flow", "a", "flow-2"])))
def test_every_slug_that_is_made_is_accepted(name: str, taken: set[str]) -> None:
    """So that an exported file can be imported again."""
    slug = make_slug(name, fallback="flow", used_slugs=taken)
    assert check_slug(slug, noun="flow") == slug
    assert slug not in taken


@pytest.mark.parametrize("slug", ["", "A", "a b", "-a", "a-", "a--b", "12", "a" * 65, "ä", "a\n"])
def test_a_slug_that_no_workflow_can_have_is_refused(slug: str) -> None:
    """With the rule in the message."""
    with pytest.raises(InvalidWorkflow, match="slug"):
        check_slug(slug, noun="pipeline")
