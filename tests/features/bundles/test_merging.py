"""Merges of JSON by key: a change of one side is kept, and both together are a conflict."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from looseleaf.features.bundles.artifacts import Artifact
from looseleaf.features.bundles.ledger import BundleLedger, InstalledArtifact
from looseleaf.features.bundles.plan import MergedArtifact, is_mergeable, merge_artifact

KEY = "pipeline:news"
DOCUMENTS: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from("abc"),
    st.recursive(
        st.sampled_from(["x", "y", 2, None, []]),
        lambda parts: st.dictionaries(st.sampled_from("abc"), parts, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)


def merge(base: Any, mine: Any, theirs: Any) -> MergedArtifact:  # noqa: ANN401 - any JSON
    ledger = BundleLedger(
        bundle_slug="b",
        bundle_version="1",
        source_ref="",
        source_revision="",
        installed_at="",
        updated_at="",
        artifacts={KEY: InstalledArtifact("", "", base)},
    )
    return merge_artifact(Artifact(KEY, "", theirs), Artifact(KEY, "", mine), ledger)


@given(base=DOCUMENTS, other=DOCUMENTS)
def test_the_change_of_one_side_is_the_result(base: dict[str, Any], other: dict[str, Any]) -> None:
    """Whoever made it; and the same change on both sides is no conflict."""
    assert merge(base, base, other) == MergedArtifact(other, ())
    assert merge(base, other, base) == MergedArtifact(other, ())
    assert merge(base, other, other) == MergedArtifact(other, ())


@given(base=DOCUMENTS, mine=DOCUMENTS, theirs=DOCUMENTS)
def test_without_a_conflict_the_sides_can_change_places(
    base: dict[str, Any], mine: dict[str, Any], theirs: dict[str, Any]
) -> None:
    """Both orders name the same conflicts, and agree if there are none."""
    one, other = merge(base, mine, theirs), merge(base, theirs, mine)
    assert one.conflicts == other.conflicts
    if not one.conflicts:
        assert one.payload == other.payload


def test_changes_in_different_places_meet() -> None:
    """Nested keys are merged one by one, a list is one value, a removed key stays removed."""
    base = {"a": {"x": 1, "y": 1}, "list": [1], "gone": 1}
    mine = {"a": {"x": 2, "y": 1}, "list": [1, 2]}
    theirs = {"a": {"x": 1, "y": 2}, "list": [1, 3], "gone": 1, "new": 1}
    merged = merge(base, mine, theirs)
    assert merged.payload == {"a": {"x": 2, "y": 2}, "list": [1, 2], "new": 1}
    assert merged.conflicts == ("list",)


def test_a_policy_is_of_one_side_or_the_other() -> None:
    """The list of one and the mode of the other could allow what both of them deny."""
    base = {"tool_policy": {"mode": "deny", "tools": ["a"]}}
    mine = {"tool_policy": {"mode": "allow", "tools": ["a"]}}
    theirs = {"tool_policy": {"mode": "deny", "tools": ["a", "b"]}}
    merged = merge(base, mine, theirs)
    assert (merged.payload, merged.conflicts) == (mine, ("tool_policy",))
    assert not is_mergeable(Artifact("agent_config:tool_policy", "", theirs["tool_policy"]))
