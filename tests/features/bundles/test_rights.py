"""Rights: a policy that lets more through is noticed, and in doubt it does."""

from __future__ import annotations

from typing import Any

import pytest

from looseleaf.features.bundles.artifacts import Artifact, starts_by_itself, widens_rights

TOOLS, PAGES = "agent_config:tool_policy", "agent_config:memory_policy"
DENY_A, DENY_AB = {"mode": "deny", "tools": ["a"]}, {"mode": "deny", "tools": ["a", "b"]}
ALLOW_A, ALLOW_AB = {"mode": "allow", "tools": ["a"]}, {"mode": "allow", "tools": ["a", "b"]}
HIDE_A, HIDE_AB = {"mode": "deny", "deny": ["a.md"]}, {"mode": "deny", "deny": ["a.md", "b.md"]}
ONLY_A = {"mode": "allow_only", "allow_only": ["a.md"]}
ONLY_AB = {"mode": "allow_only", "allow_only": ["a.md", "b.md"]}
BOUND = {"mode": "default", "binds": "access"}
AI = {"step_id": "ai", "step_type": "ai", "step_config": {}}
PUBLISH = {"step_id": "out", "step_type": "publish", "step_config": {"status": "draft"}}
LIVE = {"status": "publish"}


def steps(*row: dict[str, Any]) -> dict[str, Any]:
    """Return a pipeline with these steps."""
    return {"tool_policy": {}, "steps": list(row)}


def flow(settings: dict[str, Any]) -> dict[str, Any]:
    """Return a flow that has settings for one step."""
    return {"run_artifacts": {}, "steps": [{"step_id": "out", "handler_configs": settings}]}


@pytest.mark.parametrize(
    ("key", "before", "after", "is_wider"),
    [
        (TOOLS, None, DENY_A, False),
        (TOOLS, None, ALLOW_A, True),
        (TOOLS, None, {"mode": "allow", "tools": ["agent_memory"]}, False),
        (TOOLS, None, {"mode": "allow", "categories": ["jobs"]}, True),
        ("agent_config:danger", None, {"x": 1}, True),
        ("pipeline:news", None, steps(AI), False),
        ("pipeline:news", None, steps(AI, PUBLISH), True),
        ("flow:a", None, flow({}), False),
        ("flow:a", None, {**flow({}), "run_artifacts": {"daily_memory": {}}}, True),
        (TOOLS, DENY_A, DENY_AB, False),
        (TOOLS, DENY_AB, DENY_A, True),
        (TOOLS, DENY_A, {}, True),
        (TOOLS, ALLOW_AB, ALLOW_A, False),
        (TOOLS, ALLOW_A, ALLOW_AB, True),
        (TOOLS, ALLOW_A, DENY_A, True),
        (TOOLS, DENY_A, ALLOW_A, True),
        (TOOLS, {"mode": "nonsense"}, DENY_A, True),
        (PAGES, None, HIDE_A, False),
        (PAGES, HIDE_A, HIDE_AB, False),
        (PAGES, HIDE_AB, HIDE_A, True),
        (PAGES, ONLY_AB, ONLY_A, False),
        (PAGES, ONLY_A, ONLY_AB, True),
        (PAGES, ONLY_A, HIDE_A, True),
        (PAGES, BOUND, {"mode": "default"}, True),
        ("agent_config:models", None, {"default": "x"}, False),
        ("pipeline:news", {"tool_policy": DENY_A}, {"tool_policy": {}}, True),
        ("pipeline:news", {"tool_policy": {}}, {"tool_policy": DENY_A}, False),
        ("pipeline:news", steps(AI), steps(AI, PUBLISH), True),
        ("pipeline:news", steps(AI, PUBLISH), steps(AI, PUBLISH), False),
        ("pipeline:news", steps(AI, PUBLISH), steps(AI), False),
        ("pipeline:news", steps(PUBLISH), steps({**PUBLISH, "step_config": LIVE}), True),
        ("pipeline:news", steps(AI), steps({**AI, "step_config": {"enabled_tools": []}}), False),
        ("pipeline:news", steps({**AI, "step_config": {"enabled_tools": []}}), steps(AI), True),
        ("pipeline:news", steps({**AI, "step_config": {"disabled_tools": ["a"]}}), steps(AI), True),
        ("flow:a", flow({}), flow({"prompt": "x"}), False),
        ("flow:a", flow({}), flow({"site": "other"}), True),
        ("flow:a", flow({"enabled_tools": ["a"]}), flow({"enabled_tools": ["a", "b"]}), True),
        ("flow:a", flow({}), {**flow({}), "run_artifacts": {"daily_memory": {}}}, True),
    ],
)
def test_wider_rights_are_noticed(key: str, before: Any, after: Any, *, is_wider: bool) -> None:  # noqa: ANN401 - any JSON
    """A policy that only takes away is none, every other change of a policy is one."""
    current = None if before is None else Artifact(key, "", before)
    assert widens_rights(Artifact(key, "", after), current) is is_wider


def test_only_an_enabled_schedule_with_a_time_starts_by_itself() -> None:
    """A manual flow and a paused one wait for someone anyway."""
    for schedule, starts in (
        ({"interval": "daily"}, True),
        ({"interval": "daily", "enabled": False}, False),
        ({"interval": "manual"}, False),
        ({}, False),
    ):
        assert starts_by_itself(Artifact("schedule:a", "", schedule)) is starts
    assert not starts_by_itself(Artifact("flow:a", "", {"interval": "daily"}))
