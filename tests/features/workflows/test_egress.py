"""The egress policy: what is known of it stays, in one order; nothing leads out of a bundle."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.features.workflows.artifacts import (
    SOURCES,
    TARGETS,
    normalize_egress,
    normalize_path,
)


def test_the_example_of_the_reference() -> None:
    """Targets once and sorted, unknown ones dropped; the path without its leading slash."""
    policy = {
        "daily_memory": {
            "egress": ["bundle-file", "pr-body", "github-comment", "bundle-file"],
            "bundle_relative_path": "/memory/agent/daily/{yyyy}/{mm}/{dd}.md",
        },
        "unknown": {"egress": ["artifact"]},
    }
    assert normalize_egress(policy) == {
        "daily_memory": {
            "egress": ["bundle-file", "pr-body"],
            "bundle_relative_path": "memory/agent/daily/{yyyy}/{mm}/{dd}.md",
        }
    }


def test_a_target_of_ones_own_must_be_registered() -> None:
    """`custom-store` counts only if it is named."""
    policy = {"daily_memory": {"egress": ["custom-store"]}}
    assert normalize_egress(policy) == {}
    known = normalize_egress(policy, targets=(*TARGETS, "custom-store"))
    assert known == {"daily_memory": {"egress": ["custom-store"]}}


@pytest.mark.parametrize(
    "policy",
    [
        None,
        [],
        "x",
        {"daily_memory": "artifact"},
        {"daily_memory": {"egress": "artifact"}},
        {"daily_memory": {"egress": [1, None, {}]}},
        {"daily_memory": {"egress": []}},
        {"daily_memory": {}},
    ],
)
def test_a_policy_that_says_nothing_is_empty(policy: object) -> None:
    """A bare text instead of a list drops its source."""
    assert normalize_egress(policy) == {}


def test_names_are_lower_case_and_sources_sorted() -> None:
    """One policy has one form."""
    policy = {
        "transcript_summary": {"egress": [" Artifact "], "bundle_relative_path": "x"},
        "completion_assertions": {"egress": ["PR-BODY", "artifact"]},
    }
    normal = normalize_egress(policy)
    assert list(normal) == ["completion_assertions", "transcript_summary"]
    assert normal["transcript_summary"] == {"egress": ["artifact"]}
    assert normal["completion_assertions"] == {"egress": ["artifact", "pr-body"]}


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("/a//b/", "a/b"),
        ("a\\b", "a/b"),
        ("a/../b", ""),
        ("a/..", ""),
        ("./a", ""),
        ("..", ""),
        ("..\\x", ""),
        ("a/. /b", ""),
        ("a/b..md", "a/b..md"),
        (3, ""),
        (None, ""),
        ("a\nb", ""),
        ("x" * 501, ""),
    ],
)
def test_a_path_stays_below_the_bundle(path: object, normal: str) -> None:
    """A segment of dots drops the path, and the targets stay."""
    assert normalize_path(path) == normal
    policy = {"daily_memory": {"egress": ["artifact"], "bundle_relative_path": path}}
    assert normalize_egress(policy)["daily_memory"]["egress"] == ["artifact"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(TARGETS),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from([*SOURCES, "egress", "bundle_relative_path", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_normal_is_normal(policy: object) -> None:
    """Whatever is given, the result is known, and normalizing it again changes nothing."""
    normal = normalize_egress(policy)
    assert normalize_egress(normal) == normal
    assert set(normal) <= set(SOURCES)
    for entry in normal.values():
        assert entry["egress"]
        assert set(entry["egress"]) <= set(TARGETS)
        path = entry.get("bundle_relative_path", "x")
        assert not path.startswith("/")
        assert not {".", ".."} & set(path.split("/"))
