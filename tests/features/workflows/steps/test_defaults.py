"""The types of steps of every workspace, registered as those of a plugin are."""

from __future__ import annotations

import pytest

from looseleaf.features.workflows.parts import step_types_of
from looseleaf.features.workflows.steps.defaults import CORE_STEPS
from tests.features.workflows.steps.conftest import Bench


def test_every_type_is_registered_by_our_own_plugin(bench: Bench) -> None:
    """The hook that plugins use brings them in."""
    types = step_types_of(bench.workspace)
    assert {step_type.name for step_type in CORE_STEPS} <= {item.name for item in types.all()}
    (own,) = (
        plugin for plugin in bench.workspace.registries.plugins() if plugin.name == "looseleaf"
    )
    assert "memory_update" in own.registered["steps"]


@pytest.mark.parametrize("step_type", CORE_STEPS, ids=lambda step_type: step_type.name)
def test_every_type_says_what_it_is(bench: Bench, step_type: object) -> None:
    """A label, a sentence, packets that exist, and settings without surprises."""
    known = step_types_of(bench.workspace).get(step_type.name)  # type: ignore[attr-defined]
    assert known.label
    assert known.description.endswith(".")
    assert known.settings["additionalProperties"] is False
    assert known.gives


def test_pipelines_that_fit_are_accepted_and_others_are_not(bench: Bench) -> None:
    """The three examples of Data Machine fit; a step that nothing feeds does not."""
    types = step_types_of(bench.workspace)
    for names in (
        ("input", "ai", "publish", "memory_update"),
        ("ai", "publish"),
        ("webhook_gate", "input", "ai"),
        ("system_task", "memory_update"),
    ):
        assert types.find_misfit(names) is None
    assert "publish" in (types.find_misfit(("publish",)) or "")
    assert "memory_update" in (types.find_misfit(("memory_update", "ai")) or "")
