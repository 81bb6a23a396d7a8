"""A pipeline as a value: its version says what it defines, and steps are found by their ids."""

from __future__ import annotations

from looseleaf.features.workflows.definitions import Pipeline, Step
from looseleaf.values import replace

NEWS = Pipeline(
    id=1,
    slug="news",
    name="Daily Music News",
    agent_id=3,
    user_id=1,
    memory_files=("content-strategy.md",),
    steps=(Step("input", "input", "Feed", {"url": "x"}), Step("ai", "ai")),
)


def test_the_version_follows_the_definition_and_not_the_clock() -> None:
    """Saving the same again is the same version; every other field counts."""
    assert replace(NEWS, updated=5.0, created=1.0).version == NEWS.version
    for change in (
        {"name": "News"},
        {"slug": "other"},
        {"system_prompt": "Write."},
        {"memory_files": ()},
        {"tool_policy": {"mode": "deny", "tools": ["x"]}},
        {"steps": NEWS.steps[::-1]},
        {"steps": (replace(NEWS.steps[0], settings={"url": "y"}), NEWS.steps[1])},
    ):
        assert replace(NEWS, **change).version != NEWS.version


def test_the_order_of_settings_is_no_difference() -> None:
    """Two readers of the same JSON have the same version."""
    one = replace(NEWS, tool_policy={"mode": "deny", "tools": []})
    two = replace(NEWS, tool_policy={"tools": [], "mode": "deny"})
    assert one.version == two.version


def test_a_step_is_found_by_its_id() -> None:
    """With its place in the row."""
    assert NEWS.step("ai") == Step("ai", "ai")
    assert (NEWS.position("input"), NEWS.position("ai")) == (0, 1)
    assert (NEWS.step("gone"), NEWS.position("gone")) == (None, None)


def test_a_step_without_a_label_is_called_by_its_type() -> None:
    """In words."""
    assert [step.title for step in NEWS.steps] == ["Feed", "AI"]
    assert Step("gate", "webhook_gate").title == "Webhook gate"
