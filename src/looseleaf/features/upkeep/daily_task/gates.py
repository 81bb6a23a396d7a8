"""The gates of a compaction: the conditions that must hold before a byte is written."""

from __future__ import annotations

import math
import re
from collections import Counter

from looseleaf.features.upkeep.daily_task.plan import CONTEXT_MARK
from looseleaf.memory.units import count_lines, has_word, size_of
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.features.upkeep.daily_task.plan import CompactionPlan
    from looseleaf.settings import Settings


# Identifiers of a text: the names, numbers, paths and quotations that must survive unchanged.


_CODE_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_QUOTATION = re.compile(r'"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」|『([^』]+)』')
_FENCE = re.compile(r"[ \t]*(?:[-*+] +|\d+[.)] +)*(`{3,}|~{3,})")
_OPENING = "([{<\"'`*_~|>-–—•«“„‘「『+="
_CLOSING = ")]}>\"'`*_~|.,;:!?…。，；：！？、»”“’」』=-–—"
_MARKS = frozenset("_/\\@#")


def find_identifiers(text: str) -> set[str]:
    """Collect the identifiers of every line, and every fenced block as a whole.

    An identifier is a code span, a quotation, or a word that has a digit, one of `_ / \\ @ #`, or
    an upper-case letter: numbers, dates, versions, hashes, paths, addresses, handles and names.
    """
    identifiers = set(_find_fenced_blocks(text))
    words: set[str] = set()
    for line in text.split("\n"):
        words.update(line.split())
        if "`" in line:
            identifiers.update(match[2].strip() for match in _CODE_SPAN.finditer(line))
        identifiers.update(
            next(part for part in match.groups() if part) for match in _QUOTATION.finditer(line)
        )
    bare_words = {word.lstrip(_OPENING).rstrip(_CLOSING) for word in words}
    identifiers.update(word for word in bare_words if _is_identifier(word))
    return identifiers


def _is_identifier(word: str) -> bool:
    if not _MARKS.isdisjoint(word):
        return True
    return any(character.isdigit() or character.isupper() for character in word)


def _find_fenced_blocks(text: str) -> Iterator[str]:
    if "```" not in text and "~~~" not in text:
        return
    fence = ""
    body: list[str] = []
    for line in text.split("\n"):
        if fence:
            mark = line.strip()
            if mark.startswith(fence) and not mark.strip(fence[0]):
                yield _join_block(body)
                fence, body = "", []
            else:
                body.append(line.rstrip())
            continue
        opening = _FENCE.match(line)
        if opening:
            fence = opening[1]
    if fence and body:
        yield _join_block(body)


def _join_block(lines: list[str]) -> str:
    """Join the lines of a block; the blank lines at its end name nothing."""
    return "\n".join(lines).rstrip("\n")


BUDGET = 8192
_SHOWN_LINES = 5
_SHOWN_CHARACTERS = 120


@value(kw_only=True)
class Thresholds:
    """The limits of a compaction, in bytes and as ratios; 0 switches a ratio off.

    Fields:
        budget: The size that the page should have at most.
        conservation: The least share of the page that an answer must account for.
        expansion: The largest share of the page that an answer may have.
        progress: The largest share of its size that an oversized page may have afterwards.
        turns: How often the model is asked.
        overflow: The size above which the page is split without a model; 0 for never.
        overflow_target: The size that such a split aims at.
    """

    budget: int = BUDGET
    conservation: float = 0.85
    expansion: float = 1.15
    progress: float = 0.75
    turns: int = 3
    overflow: int = 4 * BUDGET
    overflow_target: int = BUDGET

    @property
    def budget_text(self) -> str:
        """The budget as the prompt says it."""
        kilobytes, rest = divmod(self.budget, 1024)
        return f"{self.budget} bytes" if rest else f"{kilobytes} KB"


def thresholds_of(settings: Settings) -> Thresholds:
    """Return the limits that the settings say."""
    return Thresholds(
        budget=BUDGET,
        conservation=settings.daily_memory_conservation_threshold,
        expansion=settings.daily_memory_max_combined_ratio,
        progress=min(settings.daily_memory_overflow_progress_ratio, 1.0),
        turns=max(settings.daily_memory_max_turns, 1),
        overflow=settings.daily_memory_overflow_threshold,
        overflow_target=settings.daily_memory_overflow_target_size,
    )


@value
class Sizes:
    """The sizes of a page and of the two parts of an answer, in bytes."""

    original: int
    persistent: int
    archive: int


@value
class GateRefusal:
    """Why an answer is not accepted.

    Fields:
        gate: A stable word.
        reason: One sentence with the measured figures.
        sample: Lines or names that are concerned, or "" if the figures say it all.
    """

    gate: str
    reason: str
    sample: str = ""


def compute_maximum_size(original: int, limits: Thresholds) -> int:
    """Return the largest size that the page may have afterwards."""
    if original <= limits.budget:
        return limits.budget
    return max(limits.budget, math.floor(original * limits.progress))


def compute_minimum_size(original: int, limits: Thresholds) -> int:
    """Return the least size that the page may have afterwards."""
    if original > 2 * limits.budget:
        return limits.budget // 2
    return original // 10


def refuse_bytes(sizes: Sizes, limits: Thresholds) -> GateRefusal | None:
    """Check that an answer has about as many bytes as the page: neither fewer nor more."""
    total = sizes.persistent + sizes.archive
    if not limits.conservation:
        return None
    least = math.ceil(sizes.original * limits.conservation)
    if total < least:
        return GateRefusal(
            "conservation",
            f"both parts together have {total} bytes, and the page has {sizes.original}: at "
            f"least {least} bytes are needed, so something was left out",
        )
    limit = math.ceil(sizes.original * limits.expansion)
    if limits.expansion and total > limit:
        return GateRefusal(
            "expansion",
            f"both parts together have {total} bytes, and the page has {sizes.original}: at "
            f"most {limit} bytes are allowed, so something stands in both parts or was added",
        )
    return None


def refuse_size(sizes: Sizes, limits: Thresholds) -> GateRefusal | None:
    """Check the size of the part that stays: within the budget, or clearly closer to it."""
    limit = compute_maximum_size(sizes.original, limits)
    if sizes.persistent > limit:
        return GateRefusal(
            "budget",
            f"the persistent part has {sizes.persistent} bytes, and at most {limit} are allowed",
        )
    return None


def refuse_minimum(sizes: Sizes, limits: Thresholds) -> GateRefusal | None:
    """Check that the part that stays is not suspiciously small."""
    least = compute_minimum_size(sizes.original, limits)
    if sizes.persistent < least:
        return GateRefusal(
            "minimum",
            f"the persistent part has {sizes.persistent} bytes, and at least {least} are expected",
        )
    return None


def refuse_answer(sizes: Sizes, limits: Thresholds) -> GateRefusal | None:
    """Check the sizes of an answer in the order of Data Machine, or None if all gates hold."""
    if not sizes.persistent:
        return GateRefusal("empty", "the persistent part is empty")
    return refuse_bytes(sizes, limits) or refuse_size(sizes, limits)


def refuse_foreign(plan: CompactionPlan) -> GateRefusal | None:
    """Check that the persistent part has lines of the page alone: none reworded, none new."""
    if not plan.foreign_lines:
        return None
    count = len(plan.foreign_lines)
    sample = "\n".join(
        line.strip()[:_SHOWN_CHARACTERS] for line in plan.foreign_lines[:_SHOWN_LINES]
    )
    noun = "line is" if count == 1 else "lines are"
    return GateRefusal("verbatim", f"{count} {noun} not in the page, letter for letter", sample)


def refuse_plan(original: str, plan: CompactionPlan, limits: Thresholds) -> GateRefusal | None:
    """Check the page and the archive of a plan, whether a model or the program made the plan.

    Every line of the page is in one of the two exactly as often as before (G1, G4), no identifier
    is lost (G2) or new (G3), and the page has a size that is allowed (G5).
    """
    return refuse_loss(original, plan) or _refuse_result_size(original, plan, limits)


def refuse_loss(original: str, plan: CompactionPlan) -> GateRefusal | None:
    """Check that a plan loses, duplicates and invents nothing."""
    lines = count_lines(original)
    after = count_lines(plan.text)
    removals = count_lines("".join(removal.text for removal in plan.removals))
    archive = count_lines(plan.archive)
    checks = (
        ("lines", "would be lost", lines - count_lines(plan.pointer_lines) - (after + removals)),
        ("twice", "would be in both", removals - (lines - after)),
        ("archive", "would be missing in the archive", removals - archive),
        ("invention", "would be new", after - lines - count_lines(plan.pointer_text)),
        ("invention", "would be new", _count_foreign_lines(archive, removals)),
    )
    for gate, verdict, problem in checks:
        if problem:
            sample = min(problem)[:_SHOWN_CHARACTERS]
            return GateRefusal(gate, f"{problem.total()} lines {verdict}", sample)
    identifiers = find_identifiers(plan.text) | find_identifiers(plan.archive)
    missing = find_identifiers(original) - find_identifiers(plan.pointer_lines) - identifiers
    if missing:
        sample = min(missing)[:_SHOWN_CHARACTERS]
        return GateRefusal("identifiers", f"{len(missing)} identifiers would be lost", sample)
    return None


def _count_foreign_lines(archive: Counter[str], removals: Counter[str]) -> Counter[str]:
    """Count the lines of an archive that are neither from the page nor a mark of the program."""
    surplus = archive - removals
    return Counter(
        {
            line: count
            for line, count in surplus.items()
            if has_word(line) and not line.startswith(CONTEXT_MARK)
        }
    )


def _refuse_result_size(
    original: str, plan: CompactionPlan, limits: Thresholds
) -> GateRefusal | None:
    if not plan.text.strip():
        return GateRefusal("empty", "nothing would stay in the page")
    sizes = Sizes(size_of(original), size_of(plan.text), size_of(plan.archive))
    return refuse_size(sizes, limits) or refuse_minimum(sizes, limits)
