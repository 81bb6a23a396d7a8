"""The review of a model's answer: accepted with its plan, or refused with measured reasons."""

from __future__ import annotations

from looseleaf.upkeep.daily_task.answer import count_markers, parse_answer, unescape_newlines
from looseleaf.upkeep.daily_task.gates import (
    GateRefusal,
    Sizes,
    compute_maximum_size,
    refuse_answer,
    refuse_foreign,
    refuse_plan,
)
from looseleaf.upkeep.daily_task.lines import size_of
from looseleaf.upkeep.daily_task.plan import plan_answer
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.upkeep.daily_task.answer import AnswerParts
    from looseleaf.upkeep.daily_task.archive import PageParts
    from looseleaf.upkeep.daily_task.gates import Thresholds
    from looseleaf.upkeep.daily_task.plan import CompactionPlan


@value
class Review:
    """The result of the gates for one answer; `refusal` is None if the plan is accepted."""

    sizes: Sizes
    plan: CompactionPlan | None = None
    refusal: GateRefusal | None = None


def review_answer(page: PageParts, text: str, limits: Thresholds) -> Review:
    """Read an answer about a page and take it through every gate."""
    answer = unescape_newlines(text)
    original = size_of(page.text)
    if not answer.strip():
        return Review(Sizes(original, 0, 0), refusal=GateRefusal("empty", "the answer is empty"))
    parts = parse_answer(answer, page.text)
    if parts is None:
        return Review(Sizes(original, 0, 0), refusal=_refuse_markers(answer, page.text))
    return _review_parts(page, parts, limits)


def _review_parts(page: PageParts, parts: AnswerParts, limits: Thresholds) -> Review:
    archive = size_of(parts.archive or "")
    if parts.persistent is None:
        sizes = Sizes(size_of(page.text), 0, archive)
        no_marker = GateRefusal("markers", "the line ===PERSISTENT=== is missing")
        return Review(sizes, refusal=no_marker)
    sizes = Sizes(size_of(page.text), size_of(parts.persistent), archive)
    refusal = refuse_answer(sizes, limits)
    if refusal is not None:
        return Review(sizes, refusal=refusal)
    plan = plan_answer(page, parts.persistent)
    refusal = refuse_foreign(plan) or refuse_plan(page.text, plan, limits)
    return Review(sizes, plan, refusal)


def _refuse_markers(answer: str, page: str) -> GateRefusal:
    persistent, archive = count_markers(answer)
    page_persistent, page_archive = count_markers(page)
    return GateRefusal(
        "markers",
        f"===PERSISTENT=== stands in {persistent - page_persistent} lines and ===ARCHIVED=== in "
        f"{archive - page_archive}, apart from those of the page; each is needed once",
    )


def format_feedback(review: Review, limits: Thresholds) -> str:
    """Write the message to the model after an answer that was refused."""
    refusal, sizes = review.refusal, review.sizes
    reason = refusal.reason if refusal is not None else ""
    limit = compute_maximum_size(sizes.original, limits)
    advice = {
        "verbatim": (
            "Copy lines of the page unchanged, or leave them out: do not shorten, merge, "
            "translate or add lines."
        ),
        "budget": f"Move more lines to the archived part, until at most {limit} bytes stay.",
        "minimum": "Keep more of the durable lines in the persistent part.",
        "expansion": "Put each line into one part only, and add nothing.",
        "conservation": "Give every line of the page in one of the two parts.",
    }.get(refusal.gate if refusal is not None else "", "")
    return (
        f"This answer cannot be used: {reason}. {advice} Answer again with both parts whole: a "
        "line ===PERSISTENT===, the lines that stay, a line ===ARCHIVED===, the lines that go. "
        f"The page has {sizes.original} bytes; the persistent part may have at most {limit}."
    )
