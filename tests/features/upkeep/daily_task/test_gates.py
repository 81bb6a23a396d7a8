"""The gates on sizes, with the figures that the original plugin was measured with."""

from __future__ import annotations

import pytest

from looseleaf.features.upkeep.daily_task.gates import (
    Sizes,
    Thresholds,
    compute_maximum_size,
    compute_minimum_size,
    refuse_answer,
    refuse_bytes,
    refuse_loss,
    refuse_minimum,
    refuse_size,
    thresholds_of,
)
from looseleaf.features.upkeep.daily_task.plan import PageParts, plan_selection
from looseleaf.settings import Settings
from looseleaf.values import replace

LIMITS = Thresholds()


@pytest.mark.parametrize(
    ("sizes", "gate"),
    [
        ((56320, 20480, 335), "conservation"),
        ((59392, 20480, 35840), ""),
        ((1000, 850, 0), ""),
        ((1000, 849, 0), "conservation"),
        ((1000, 800, 0), "conservation"),
        ((5000, 5000, 0), ""),
        ((1000, 800, 600), "expansion"),
        ((1000, 700, 375), ""),
        ((9233, 4091, 6178), ""),
        ((9301, 9233, 643), "budget"),
        ((9301, 7600, 1700), ""),
        ((9233, 4120, 8964), "expansion"),
        ((27735, 20801, 6934), ""),
        ((27735, 20802, 6933), "budget"),
        ((1000, 0, 1000), "empty"),
    ],
)
def test_the_sizes_of_an_answer(sizes: tuple[int, int, int], gate: str) -> None:
    """Lossy, blown up, over the budget or empty: each is refused by its own gate."""
    refusal = refuse_answer(Sizes(*sizes), LIMITS)
    assert (refusal.gate if refusal else "") == gate


@pytest.mark.parametrize(
    ("limits", "sizes", "is_refused"),
    [
        (Thresholds(conservation=0.95), (1000, 850, 100), False),
        (Thresholds(conservation=0.95), (1000, 850, 50), True),
        (Thresholds(conservation=0), (56320, 20480, 335), False),
        (Thresholds(expansion=0), (1000, 800, 600), False),
    ],
)
def test_thresholds_can_be_adjusted(
    limits: Thresholds, sizes: tuple[int, int, int], *, is_refused: bool
) -> None:
    """A ratio of 0 switches a gate off; conservation switches both off."""
    assert (refuse_bytes(Sizes(*sizes), limits) is not None) == is_refused


def test_the_reason_names_the_figures() -> None:
    """The model is told what was measured and what is allowed."""
    refusal = refuse_bytes(Sizes(9233, 4120, 8964), LIMITS)
    assert refusal is not None
    assert "13084 bytes" in refusal.reason
    assert "10618" in refusal.reason
    over = refuse_size(Sizes(9301, 9233, 643), LIMITS)
    assert over is not None
    assert "9233" in over.reason
    assert "8192" in over.reason


def test_a_page_far_over_its_budget_may_shrink_to_half_of_it() -> None:
    """Near the budget a tenth must stay."""
    assert compute_minimum_size(20_000, LIMITS) == 4096
    assert compute_minimum_size(16_384, LIMITS) == 1638
    assert compute_minimum_size(9000, LIMITS) == 900
    assert compute_maximum_size(8192, LIMITS) == 8192
    assert compute_maximum_size(9000, LIMITS) == 8192
    refusal = refuse_minimum(Sizes(20_000, 4095, 16_000), LIMITS)
    assert refusal is not None
    assert refusal.gate == "minimum"
    assert refuse_minimum(Sizes(20_000, 4096, 16_000), LIMITS) is None


def test_a_plan_that_loses_or_invents_is_refused() -> None:
    """Whoever made it: the gate does not trust the planner."""
    page = "# A\n\n- one\n- two `x`\n"
    plan = plan_selection(PageParts(page), {0, 1})
    assert refuse_loss(page, plan) is None
    faults = {
        "lines": replace(plan, removals=(), archive=""),
        "twice": replace(plan, text=page),
        "archive": replace(plan, archive=""),
        "invention": replace(plan, text=plan.text + "- three\n"),
    }
    for gate, faulty in faults.items():
        refusal = refuse_loss(page, faulty)
        assert refusal is not None
        assert refusal.gate == gate
    more = refuse_loss(page, replace(plan, archive=plan.archive + "- four\n"))
    assert more is not None
    assert more.gate == "invention"


def test_the_settings_say_the_thresholds() -> None:
    """Each has its own setting; a ratio of progress above one counts as one."""
    settings = Settings(root="", daily_memory_max_turns=0, daily_memory_overflow_progress_ratio=7.0)
    limits = thresholds_of(settings)
    assert (limits.turns, limits.progress) == (1, 1.0)
    assert limits.budget_text == "8 KB"
    assert thresholds_of(Settings(root="")) == Thresholds()
