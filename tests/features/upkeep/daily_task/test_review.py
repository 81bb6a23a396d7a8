"""An answer on its way through the gates, and what the model is told of it."""

from __future__ import annotations

from looseleaf.features.upkeep.daily_task.conversation import format_feedback, review_answer
from looseleaf.features.upkeep.daily_task.gates import Thresholds
from looseleaf.features.upkeep.daily_task.plan import PageParts

LIMITS = Thresholds()
PAGE = "# M\n\n## A\n\n" + "".join(f"- fact {number} is here\n" for number in range(500))


def answer(persistent: int) -> str:
    """Keep so many facts."""
    lines = [f"- fact {number} is here" for number in range(500)]
    head = "===PERSISTENT===\n# M\n\n## A\n\n"
    return (
        head + "\n".join(lines[:persistent]) + "\n===ARCHIVED===\n" + "\n".join(lines[persistent:])
    )


def test_a_good_answer_has_a_plan() -> None:
    """And no refusal."""
    review = review_answer(PageParts(PAGE), answer(300), LIMITS)
    assert review.refusal is None
    assert review.plan is not None
    assert review.plan.archived_lines == 200


def test_each_refusal_tells_the_model_what_to_do() -> None:
    """With the size that is allowed, and the lines that are not of the page."""
    page = PageParts(PAGE)
    cases = {
        "verbatim": (answer(300).replace("fact 7 is", "fact seven is"), "Copy lines of the page"),
        "budget": (answer(480), "Move more lines"),
        "conservation": (answer(300).partition("===ARCHIVED===")[0], "every line of the page"),
        "minimum": (answer(10), "Keep more"),
        "markers": ("- fact 1 is here", "===PERSISTENT==="),
        "empty": ("===PERSISTENT===\n===ARCHIVED===\n" + PAGE, "is empty"),
    }
    for gate, (text, advice) in cases.items():
        review = review_answer(page, text, LIMITS)
        assert review.refusal is not None
        assert review.refusal.gate == gate
        assert advice in format_feedback(review, LIMITS)
        assert "at most 8192" in format_feedback(review, LIMITS)
    seven = review_answer(page, cases["verbatim"][0], LIMITS)
    assert seven.refusal is not None
    assert seven.refusal.reason == "1 line is not in the page, letter for letter"
    assert seven.refusal.sample == "- fact seven is here"
