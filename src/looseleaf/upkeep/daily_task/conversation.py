"""The conversation with the model: one prompt, and up to a few turns with measured feedback."""

from __future__ import annotations

from looseleaf.errors.models import ModelFailed
from looseleaf.models.model import Answer, Delta, Message, Question, Usage
from looseleaf.upkeep.daily_task.gates import GateRefusal, Sizes
from looseleaf.upkeep.daily_task.lines import size_of
from looseleaf.upkeep.daily_task.outcome import LONGEST_ANSWER, RefusedAnswer
from looseleaf.upkeep.daily_task.review import Review, format_feedback, review_answer
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.models.model import Model
    from looseleaf.upkeep.daily_task.archive import PageParts
    from looseleaf.upkeep.daily_task.gates import Thresholds
    from looseleaf.upkeep.daily_task.plan import CompactionPlan

_SLACK = 16_384  # bytes that an answer may have beyond twice the page


@value
class PlanConversation:
    """The result of a conversation: a plan that passed every gate, or the refused answers."""

    plan: CompactionPlan | None
    turns: int
    refusals: tuple[RefusedAnswer, ...]
    rejected_answer: str
    usage: Usage


def ask_for_plan(
    model: Model,
    system: tuple[str, ...],
    prompt: str,
    page: PageParts,
    *,
    limits: Thresholds,
    is_cancelled: Callable[[], bool],
) -> PlanConversation:
    """Query a model until an answer passes every gate, at most as often as the limits say."""
    messages = [Message(role="user", text=prompt)]
    refusals: list[RefusedAnswer] = []
    usage, text = Usage(), ""
    for turn in range(1, limits.turns + 1):
        answer, reason = _ask(model, Question(system, tuple(messages)), page, is_cancelled)
        text = answer.message.text
        usage = usage.plus(answer.usage)
        review = review_answer(page, text, limits)
        if reason:
            review = Review(review.sizes, refusal=GateRefusal("length", reason))
        if review.refusal is None:
            return PlanConversation(review.plan, turn, tuple(refusals), "", usage)
        refusals.append(_build_refused_answer(turn, review.refusal, review.sizes))
        messages += [
            Message(role="assistant", text=text[:LONGEST_ANSWER] or "(nothing)"),
            Message(role="user", text=format_feedback(review, limits)),
        ]
    return PlanConversation(None, limits.turns, tuple(refusals), text[:LONGEST_ANSWER], usage)


def _ask(
    model: Model, question: Question, page: PageParts, is_cancelled: Callable[[], bool]
) -> tuple[Answer, str]:
    """Query the model once; return the answer, and why it is refused if cut or too long."""
    limit = 2 * size_of(page.text) + _SLACK
    parts: list[str] = []
    size = 0
    for event in model.ask(question, is_cancelled):
        if isinstance(event, Answer):
            return event, _find_fault(event, limit)
        if isinstance(event, Delta):
            parts.append(event.text)
            size += len(event.text)
            if size > limit:
                message = Message(role="assistant", text="".join(parts))
                return Answer(message, Usage(1), model.name), _describe_excess(limit)
    raise ModelFailed(model.name, "it ended without an answer")


def _find_fault(answer: Answer, limit: int) -> str:
    return _describe_excess(limit) if len(answer.message.text) > limit else answer.warning


def _describe_excess(limit: int) -> str:
    return f"the answer has more than {limit} characters"


def _build_refused_answer(turn: int, refusal: GateRefusal, sizes: Sizes) -> RefusedAnswer:
    return RefusedAnswer(turn, refusal.gate, refusal.reason, sizes.persistent, sizes.archive)
